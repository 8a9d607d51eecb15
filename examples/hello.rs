//! Goal: one function of JavaScript, called from Rust, and what the caller gets when it throws.
//!
//! Run it with `cargo run --example hello`.

use jsmill::{Engine, ErrorKind, Script};
use serde::{Deserialize, Serialize};

/// The algorithm that changes every week. A service would read it from a file or a database.
const SOURCE: &str = "\
function greet(guest) {
    if (!guest.name) throw new RangeError('a guest needs a name');
    const stars = guest.visits >= 3 ? 2 : 0;
    return { text: `Hello, ${guest.name}!`, stars };
}";

/// What passes in: anything that serialises.
#[derive(Serialize)]
struct Guest {
    name: &'static str,
    visits: u32,
}

/// What comes out: anything that deserialises.
#[derive(Debug, PartialEq, Deserialize)]
struct Greeting {
    text: String,
    stars: u32,
}

#[tokio::main]
async fn main() -> jsmill::Result<()> {
    // 1. An engine: a few threads with V8 in each. A service has one, for as long as it lives; its clones share it.
    let engine = Engine::builder().workers(1).build()?;

    // 2. A script: checked here, and loaded by a worker at the first call. The name is what errors show.
    let script = Script::new("greet.js", SOURCE)?;

    // 3. A call: the name of a function, and its arguments as a tuple. The result is what the caller asks for.
    let greeting: Greeting = engine.task(&script).call("greet", (Guest { name: "Ada", visits: 4 },)).await?;
    assert_eq!(greeting, Greeting { text: "Hello, Ada!".into(), stars: 2 });
    println!("{greeting:?}");

    // 4. The second call finds the script loaded. What it throws comes back with its place.
    let error = engine.task(&script).call::<Greeting>("greet", (Guest { name: "", visits: 0 },)).await.unwrap_err();
    let thrown = error.script_error().expect("the script has thrown");
    assert_eq!((thrown.name.as_str(), thrown.line), ("RangeError", Some(2)));
    println!("{error}");

    // 5. A result that is not of the type asked for is an error with the path of the culprit, not a guess.
    let ada = Guest { name: "Ada", visits: 4 };
    let error = engine.task(&script).call::<Vec<u32>>("greet", (ada,)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Convert { path, .. } if path == "$"), "{error}");
    println!("{error}");

    // 6. The end: calls that run may finish, new ones are refused.
    engine.shutdown().await
}
