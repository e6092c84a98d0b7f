import npyext from './index.js';

export const getLoadablePath = npyext.getLoadablePath;
export const load = npyext.load;
export default npyext;
