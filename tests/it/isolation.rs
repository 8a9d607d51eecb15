//! What runs leave behind: nothing, unless the script asks for it.

mod console;
mod legacy;
mod microtasks;
mod realms;
mod refusals;
mod sealed;
