//! The laboratory as a WebAssembly module: scenarios, runs in steps, metrics and tables, handed to JavaScript.
//!
//! The interface is a small C ABI. JavaScript asks for [`input`], writes an argument there as UTF-8, and calls a function;
//! the function leaves its result in [`answer`], as UTF-8 (mostly JSON) or as 64-bit floats. A function returns 0 when it
//! did what it says and 1 when the answer is a message that says why not. `web/src/lab.js` is the other side.

#![expect(unsafe_code, reason = "exported names; nothing here is unsafe but that they are exported")]

mod answers;
mod rows;
mod runs;

pub use answers::{answer, answer_octets, input};
pub use runs::{advance, csv, digests, end, forget, ports, recorded, start};

use answers::{argument, give};
use qcnlab_scenario::Scenario;
use qcnlab_theory::margins_json;
use serde_json::{Value, json};

/// Answers the catalogue: `scenarios`, `schemes`, `parameters` and `metrics`.
#[unsafe(no_mangle)]
pub extern "C" fn catalogue() -> u32 {
    let lists = [qcnlab_scenario::scenarios_json(), qcnlab_scenario::schemes_json()];
    let [scenarios, schemes] = lists;
    let (parameters, metrics) = (qcnlab_scenario::parameters_json(), qcnlab_lab::metrics_json());
    give(Ok(format!(
        "{{\"scenarios\":{scenarios},\"schemes\":{schemes},\"parameters\":{parameters},\"metrics\":{metrics}}}"
    )))
}

/// Answers how rows and states of ports are written: `tables`, all that `csv` takes; `recorded`, a list of name and columns
/// in the order of the numbers that [`recorded`] takes; and `port`, what [`ports`] answers of each port.
#[unsafe(no_mangle)]
pub extern "C" fn names() -> u32 {
    give(Ok(json!({"tables": qcnlab_lab::TABLES, "recorded": rows::RECORDED, "port": rows::PORT}).to_string()))
}

/// Reads a scenario: the input is `{"text", "name", "set"}` with a TOML text, a name for messages and a list of
/// assignments. Answers `toml` and `values` (every key, in base units), `written` (as the file would write them), `hash`
/// and `warnings`.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> u32 {
    give(scenario(&argument()).map(|scenario| {
        let tree = |text: String| serde_json::from_str::<Value>(&text).unwrap_or_default();
        json!({
            "name": scenario.name,
            "title": scenario.title,
            "toml": scenario.to_toml(),
            "values": tree(scenario.to_base_json()),
            "written": tree(scenario.to_json()),
            "hash": scenario.hash(),
            "warnings": scenario.warnings(),
        })
        .to_string()
    }))
}

/// As [`check`]; answers the margins of the control loops behind a scenario.
#[unsafe(no_mangle)]
pub extern "C" fn margins() -> u32 {
    give(scenario(&argument()).and_then(|scenario| margins_json(&scenario).map_err(|why| why.to_string())))
}

/// Reads a scenario from what JavaScript wrote.
fn scenario(input: &str) -> Result<Scenario, String> {
    let asked: Value = serde_json::from_str(input).map_err(|error| error.to_string())?;
    let text = |key: &str| asked[key].as_str().unwrap_or_default();
    let set: Vec<&str> = asked["set"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let scenario = Scenario::parse(text("text"), text("name")).and_then(|scenario| scenario.with_overrides(&set));
    scenario.map_err(|error| error.render())
}
