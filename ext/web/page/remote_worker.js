// The worker of the page for URLs, which asks the servers that the page's list names, and nobody else.

import { Remote } from './remote.js';
import { work } from './work.js';

work((onRead) => new Remote(onRead));
