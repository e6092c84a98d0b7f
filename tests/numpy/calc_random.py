import ctypes, random, sys, warnings
import numpy as np
warnings.simplefilter("ignore"); np.seterr(all="ignore")
L=ctypes.CDLL('/tmp/calcshim.so')
def calc(text, ops, chunk=1<<16):
    n=len(ops)
    keep=[]
    dts=(ctypes.c_char_p*n)(); nd=(ctypes.c_int*n)(); sh=(ctypes.c_void_p*n)(); fo=(ctypes.c_int*n)(); da=(ctypes.c_void_p*n)(); nb=(ctypes.c_int64*n)(); nums=(ctypes.c_double*n)(); kinds=(ctypes.c_int*n)()
    size=1
    for i,o in enumerate(ops):
        if isinstance(o,(int,float)) and not isinstance(o,np.generic):
            kinds[i]=1 if isinstance(o,int) else 2; nums[i]=o; continue
        b=o.tobytes(order='A'); buf=ctypes.create_string_buffer(b,len(b)+16); keep.append(buf)
        s=(ctypes.c_int64*max(1,o.ndim))(*o.shape); keep.append(s)
        dts[i]=(o.dtype.str if o.dtype.kind not in 'mM' else o.dtype.str).encode(); nd[i]=o.ndim; sh[i]=ctypes.cast(s,ctypes.c_void_p); fo[i]=int(o.flags.f_contiguous and not o.flags.c_contiguous); da[i]=ctypes.cast(buf,ctypes.c_void_p); nb[i]=len(b)
    descr=ctypes.create_string_buffer(64); ndim=ctypes.c_int(); shape=(ctypes.c_int64*64)(); out=ctypes.create_string_buffer(1<<20); msg=ctypes.create_string_buffer(400); off=ctypes.c_int64(-1)
    st=L.shim_calc(text.encode(),n,dts,nd,sh,fo,da,nb,nums,kinds,descr,ctypes.byref(ndim),shape,out,ctypes.c_int64(1<<20),chunk,msg,ctypes.byref(off))
    if st: return ('error',msg.value.decode('utf8','replace'),off.value)
    dt=np.dtype(descr.value.decode().strip("'")); s=tuple(shape[:ndim.value])
    return np.frombuffer(out.raw[:int(np.prod(s,dtype=object))*dt.itemsize],dtype=dt).reshape(s)
TYPES=['?','i1','i2','i4','i8','u1','u2','u4','u8','f2','f4','f8','c8','c16']
def array(rng, shape):
    t=rng.choice(TYPES); dt=np.dtype(t)
    if dt.itemsize>1 and rng.random()<.3: dt=dt.newbyteorder('>')
    nr=np.random.default_rng(rng.getrandbits(32))
    if dt.kind=='b': a=nr.random(shape)<.5
    elif dt.kind in 'iu':
        lo,hi=(np.iinfo(dt).min,np.iinfo(dt).max)
        if rng.random()<.6: lo,hi=max(lo,-4),5
        a=nr.integers(lo,hi,shape,dtype=dt.newbyteorder('='),endpoint=True)
    elif dt.kind=='f':
        a=nr.normal(size=shape)*rng.choice([1,3,1000,1e-3])
        if rng.random()<.3: a=np.where(nr.random(shape)<.2, nr.choice([np.nan,np.inf,-np.inf,0.0,-0.0,1e30,1e300],size=shape), a)
    else: a=nr.normal(size=shape)+1j*nr.normal(size=shape)
    with np.errstate(all='ignore'): a=np.asarray(a).astype(dt)
    if rng.random()<.25: a=np.asfortranarray(a)
    return a
BIN=['+','-','*','/','//','%','**','<','<=','>','>=','==','!=','&','|','^']
F1='abs sqrt exp expm1 log log1p log2 log10 sin cos tan tanh floor ceil trunc round sign isnan isfinite'.split()
def expr(rng, names, depth):
    r=rng.random()
    if depth==0 or r<.15:
        if rng.random()<.25: return rng.choice(['1','2','0','3','-1','0.5','2.5','1e3','300','1e300','-2','100000'])
        return rng.choice(names)
    if r<.65: return f"({expr(rng,names,depth-1)} {rng.choice(BIN)} {expr(rng,names,depth-1)})"
    if r<.72: return f"{rng.choice('-~')}({expr(rng,names,depth-1)})"
    if r<.88: return f"{rng.choice(F1)}({expr(rng,names,depth-1)})"
    if r<.92: return f"{rng.choice(['minimum','maximum'])}({expr(rng,names,depth-1)}, {expr(rng,names,depth-1)})"
    if r<.96: return f"where({expr(rng,names,depth-1)}, {expr(rng,names,depth-1)}, {expr(rng,names,depth-1)})"
    return f"clip({expr(rng,names,depth-1)}, {expr(rng,names,depth-1)}, {expr(rng,names,depth-1)})"
NS={f:getattr(np,f) for f in F1+['minimum','maximum','where','clip']}
NS['abs']=np.abs; NS['round']=np.round
import ast, operator
OPS={ast.Add:('+',np.add,operator.add),ast.Sub:('-',np.subtract,operator.sub),ast.Mult:('*',np.multiply,operator.mul),ast.Div:('/',np.true_divide,operator.truediv),ast.FloorDiv:('//',np.floor_divide,operator.floordiv),ast.Mod:('%',np.remainder,operator.mod),ast.Pow:('**',np.power,operator.pow),
ast.BitAnd:('&',np.bitwise_and,operator.and_),ast.BitOr:('|',np.bitwise_or,operator.or_),ast.BitXor:('^',np.bitwise_xor,operator.xor)}
CMP={ast.Lt:np.less,ast.LtE:np.less_equal,ast.Gt:np.greater,ast.GtE:np.greater_equal,ast.Eq:np.equal,ast.NotEq:np.not_equal}
class Skip(Exception): pass
def isnum(v): return isinstance(v,(int,float)) and not isinstance(v,(np.generic,bool))
def mor(*ms):
    r=None
    for m in ms:
        if m is not None: r = m if r is None else np.logical_or(r,m)
    return r
loose=[False]
def ev(node, ops):
    if isinstance(node,ast.Constant): return node.value,None
    if isinstance(node,ast.Name): return ops[node.id],None
    if isinstance(node,ast.UnaryOp):
        v,m=ev(node.operand,ops)
        if isinstance(node.op,ast.USub):
            if isnum(v): return -v,m
            r=np.negative(v)
            if v.dtype.kind in 'iu':
                m=mor(m,np.asarray(r.astype(object)!=-(v.astype(object)),dtype=bool))
            return r,m
        if isnum(v): return ~v,m
        return np.invert(v),m
    if isinstance(node,ast.BinOp):
        a,ma=ev(node.left,ops); b,mb=ev(node.right,ops); sym,uf,py=OPS[type(node.op)]
        if isnum(a) and isnum(b):
            r=py(a,b)
            if isinstance(r,complex): raise Skip
            if isinstance(r,int) and abs(r)>=2**63: raise OverflowError
            return r,None
        for v in (a,b):
            if not isnum(v) and v.dtype.kind=='c' and sym in ('**',): raise Skip
        if sym=='**' and not isnum(b) and np.asarray(b).dtype.kind in 'iu' and (isnum(a) and isinstance(a,int) or (not isnum(a) and a.dtype.kind in 'iub')):
            neg=np.asarray(b)<0
            rt=np.result_type(a if isnum(a) else a.dtype,b.dtype)
            if rt==bool: rt=np.dtype('i1')
            if rt.kind in 'iu':
                if isnum(a) and not (np.iinfo(rt).min<=a<=np.iinfo(rt).max): raise OverflowError
                bb=np.where(neg,0,b).astype(rt)
                aa=np.asarray(a,dtype=rt)
                r=np.power(aa,bb)
                ex=np.power(aa.astype(object),np.minimum(bb.astype(object),300)) if np.broadcast(aa,bb).size else np.zeros(np.broadcast(aa,bb).shape,object)  # exponents beyond: 0,1,-1 only fit
                big=np.asarray([(abs(int(x))>1 and int(y)>=300) for x,y in np.broadcast(aa,bb)],dtype=bool).reshape(np.broadcast(aa,bb).shape)
                par=np.where((bb.astype(object)>300)&(np.asarray(aa)==-1), np.asarray(np.where(bb%2==0,1,-1),dtype=object), ex)
                f=np.asarray(par!=r.astype(object),dtype=bool)|big|neg
                return r,mor(ma,mb,f)
        if sym=='**' and isnum(b) and isinstance(b,int) and not isnum(a) and a.dtype.kind in 'iu' and b<0:
            np.result_type(a.dtype,b)
            np.array(b,dtype=a.dtype) if a.dtype.kind=='i' and not (np.iinfo(a.dtype).min<=b) else None
            if a.dtype.kind=='u': raise OverflowError
            return np.zeros_like(a), np.ones(a.shape,bool)
        if sym=='**': loose[0]=True
        r=uf(a,b)
        m=mor(ma,mb)
        r=np.asarray(r)
        if r.dtype.kind in 'iu' and sym in ('+','-','*','//','%','**'):
            A=np.asarray(a,dtype=r.dtype).astype(object); B=np.asarray(b,dtype=r.dtype).astype(object)
            if sym in ('//','%'):
                z=np.broadcast_to(np.asarray(B==0,dtype=bool),r.shape)
                BB=np.where(B==0,1,B)
                ex=py(A,BB) if A.size and BB.size else np.zeros(r.shape,object)
                f=np.where(z,True,np.asarray(ex!=r.astype(object),dtype=bool))
            else:
                if sym=='**':
                    ex=np.empty(r.shape,object)
                    for i,(x,y) in enumerate(np.broadcast(A,B)):
                        ex.flat[i]=x**y if abs(x)<=1 and False or y<300 else (x if abs(x)<=1 and (x>=0 or y%2) else (1 if x==-1 else 2**70))
                else: ex=py(A,B) if r.size else np.zeros(r.shape,object)
                f=np.asarray(ex!=r.astype(object),dtype=bool)
            m=mor(m,np.asarray(f,dtype=bool))
        return r,m
    if isinstance(node,ast.Compare):
        a,ma=ev(node.left,ops); b,mb=ev(node.comparators[0],ops)
        if isnum(a) and isnum(b): raise Skip
        for v in (a,b):
            if not isnum(v) and v.dtype.kind=='c' and not isinstance(node.ops[0],(ast.Eq,ast.NotEq)): raise Skip
        r=np.asarray(CMP[type(node.ops[0])](a,b))
        # a constant result for numbers out of range drops faults of the other side
        for v,w in ((a,b),(b,a)):
            if isnum(v) and isinstance(v,int) and not isnum(w) and w.dtype.kind in 'iu' and not (np.iinfo(w.dtype).min<=v<=np.iinfo(w.dtype).max): raise Skip if (ma is not None or mb is not None) and np.any(mor(ma,mb)) else NotImplementedError if False else Fine(r)
        return r,mor(ma,mb)
    if isinstance(node,ast.Call):
        f=node.func.id
        args=[ev(x,ops) for x in node.args]; vs=[v for v,_ in args]; ms=[m for _,m in args]
        arr=[np.asarray(v) if not isnum(v) else v for v in vs]
        if any(not isnum(v) and v.dtype.kind=='c' for v in arr) and f not in ('abs','isnan','isfinite','where'): raise Skip
        if f=='where':
            c=arr[0]
            if not isnum(c) and c.dtype.kind=='c': raise Skip
            c=np.asarray(c)!=0
            rt=np.result_type(*[v if isnum(v) else v.dtype for v in arr[1:]])
            for v in arr[1:]:
                if isnum(v) and isinstance(v,int) and rt.kind in 'iu' and not np.iinfo(rt).min<=v<=np.iinfo(rt).max: raise OverflowError
            r=np.where(c,arr[1],arr[2]); m=ms[0]
            if ms[1] is not None: m=mor(m,np.broadcast_to(c,r.shape)&ms[1])
            if ms[2] is not None: m=mor(m,~np.broadcast_to(c,r.shape)&ms[2])
            return r,m
        if f=='clip':
            if all(isnum(v) for v in arr): raise Skip
            if np.result_type(*[v if isnum(v) else v.dtype for v in arr])==bool: raise Skip
            # plain numbers are weak together
            r=np.asarray(np.minimum(np.maximum(*[x if not isnum(x) else np.asarray(x,dtype=np.result_type(*[v if isnum(v) else v.dtype for v in arr])) for x in arr[:2]]),arr[2] if not isnum(arr[2]) else np.asarray(arr[2],dtype=np.result_type(*[v if isnum(v) else v.dtype for v in arr]))))
            return r,mor(*ms)
        if all(isnum(v) for v in arr): arr=[np.asarray(v) for v in arr]
        if f in ('round','sign') and not isnum(arr[0]) and arr[0].dtype==bool: raise Skip
        if f not in ('abs','floor','ceil','trunc','round','sign','isnan','isfinite','minimum','maximum','sqrt'): loose[0]=True
        r=np.asarray(NS[f](*arr)); m=mor(*ms)
        if f=='abs' and r.dtype.kind in 'i': m=mor(m,np.asarray(arr[0]==np.iinfo(r.dtype).min))
        return r,m
    raise Skip
class Fine(Exception):
    def __init__(self,r): self.r=r
class FineValue(Exception): pass
def same(a,b,loose):
    if a.dtype!=b.dtype or a.shape!=b.shape: return False
    if a.dtype.kind in 'fc':
        if not loose:
            ok=(a==b)|((a!=a)&(b!=b))
            return bool(np.all(ok)) and bool(np.all((np.signbit(a)==np.signbit(b))|(a!=a))) if a.dtype.kind=='f' else bool(np.all(ok))
        tol={'f2':4e-3,'f4':1e-5,'f8':1e-12,'c8':1e-5,'c16':1e-12}[a.dtype.str[1:]]
        with np.errstate(all='ignore'): return bool(np.all(np.isclose(a,b,rtol=tol*30,atol=1e-6,equal_nan=True)|(a==b)))
    return bool(np.all(a==b))
def has_c(ops): return any(not isnum(o) and o.dtype.kind=='c' for o in ops)
def main(seed,n):
    rng=random.Random(seed); stats={}
    def count(k): stats[k]=stats.get(k,0)+1
    for q in range(n):
        base=rng.choice([(),(3,),(2,3),(4,1),(70,),(5,7),(0,),(1,),(130,3)])
        ops=[]
        names='abc'[:rng.randint(1,3)]
        for _ in names:
            s=base
            if rng.random()<.3 and base: s=tuple(1 if rng.random()<.5 else d for d in base)
            if rng.random()<.15: s=s[1:]
            ops.append(array(rng,s) if rng.random()<.9 else rng.choice([1,2,-3,0.5,7]))
        if all(isnum(o) for o in ops): continue
        text=expr(rng,names,rng.randint(1,3))
        for nm in names:
            if nm not in {x.id for x in ast.walk(ast.parse(text,mode='eval')) if isinstance(x,ast.Name)}: text=f"({text}) + {nm}" if rng.random()<.5 else f"where({nm} == 0, {text}, {text})"
        loose[0]=False
        try: tree=ast.parse(text,mode='eval').body
        except SyntaxError: continue
        try:
            want,m=ev(tree,dict(zip(names,ops)))
            if isnum(want): want=np.asarray(want)
            want=np.asarray(want)
            if want.dtype.byteorder=='>': want=want.astype(want.dtype.newbyteorder('='))
            wanted='fault' if m is not None and np.any(np.broadcast_to(m,want.shape)) else 'value'
        except (Skip,Fine): count('skip'); continue
        except RecursionError: continue
        except (TypeError,OverflowError,ValueError,ZeroDivisionError) as e: wanted='refused'; want=repr(e)[:100]
        got=calc(text,ops,rng.choice([1<<16,64,24,1000]))
        kind='refused' if isinstance(got,tuple) and not got[1].startswith('item') else 'fault' if isinstance(got,tuple) else 'value'
        if kind=='refused' and 'room' in got[1]: continue
        count(wanted)
        if wanted=='refused' and kind=='fault' and 'negative' in want: kind='refused'
        bad = kind!=wanted or (kind=='value' and not same(got,want,loose[0] or want.dtype.kind=='c' or has_c(ops) or want.dtype=='f2'))
        if bad:
            desc=[o if isnum(o) else (o.dtype.str,o.shape,o.ravel()[:6].tolist()) for o in ops]
            print(f"seed {seed} q{q}: {text}\n  {desc}\n  want {wanted} {want if not isinstance(want,np.ndarray) else (want.dtype,want.shape,want.ravel()[:6])}\n  got {kind} {got if isinstance(got,tuple) else (got.dtype,got.shape,got.ravel()[:6])}")
            count('BAD')
            if stats['BAD']>6: break
    print(seed,stats)
main(int(sys.argv[1]),int(sys.argv[2]))
