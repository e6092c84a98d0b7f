// The worker of the page for files: it asks nothing of any network.

import { work } from './work.js';

work();
