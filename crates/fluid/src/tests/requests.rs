use super::{refused, solved};
use crate::{ENTRIES, FluidError, Timing, models_json, solve};
use serde_json::Value;

#[track_caller]
fn says(error: &FluidError, words: &str) {
    assert_eq!(error.to_string(), words);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    let words = format!("no fluid model 'timly'; did you mean 'timely'?; there are {}", known.join(", "));
    says(&refused("timly", "{}", None), &words);
    assert!(["qcn", "ecm", "dcqcn", "timely", "timely_patched"].iter().all(|name| known.contains(name)));
    let error = refused("qcn", r#"{"source": 3}"#, None).to_string();
    assert!(
        error.starts_with("model qcn: no parameter 'source'; did you mean 'sources'?; there are sources, "),
        "{error}"
    );
    says(
        &refused("ecm", "{}", Some(r#"{"queue": 1}"#)),
        "model ecm: no initial key 'queue'; there are from, queue_bytes, current_rate_bps",
    );
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    says(&refused("qcn", r#"{"w": "2"}"#, None), r#"model qcn: w must be a number, not "2""#);
    says(&refused("qcn", r#"{"sources": 2.5}"#, None), "model qcn: sources must be a whole number, not 2.5");
    says(&refused("qcn", r#"{"one_sided": 1}"#, None), "model qcn: one_sided must be true or false, not 1");
    says(
        &refused("qcn", r#"{"sampling": "fast"}"#, None),
        r#"model qcn: sampling must be one of adaptive, fixed, not "fast""#,
    );
    says(&refused("qcn", "[]", None), "parameters must be a JSON object: it is []");
    says(
        &refused("dcqcn", "{}", Some(r#"{"rates_bps": [1e9]}"#)),
        "model dcqcn: rates_bps must be a number or a list of 2 numbers, not [1000000000.0]",
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    says(
        &refused("qcn", r#"{"delay_s": -1e-6}"#, None),
        "model qcn: delay_s = -0.000001 s is a negative delay: feedback cannot come before its cause",
    );
    says(&refused("qcn", r#"{"capacity_bps": 0}"#, None), "model qcn: capacity_bps = 0 bit/s must be above 0");
    says(
        &refused("dcqcn", r#"{"k_min_bytes": 300e3}"#, None),
        "model dcqcn: k_max_bytes = 200000 B must be above k_min_bytes",
    );
    says(
        &refused("timely", "{}", Some(r#"{"queue_bytes": -1}"#)),
        "model timely: queue_bytes = -1 B must be at least 0",
    );
}

#[test]
fn a_slow_link_has_no_equilibrium() {
    let error = refused("qcn", r#"{"line_rate_bps": 0.5e9}"#, Some(r#"{"from": "equilibrium"}"#));
    says(&error, "model qcn has no equilibrium: 10 sources of at most 5.000e8 bit/s cannot fill 1.000e10 bit/s");
}

#[test]
fn steps_and_spans_that_cannot_be_are_refused() {
    let asked = |end_s: f64, step_s: Option<f64>, every_s: f64| {
        solve("qcn", "{}", Timing { end_s, step_s, every_s }, None, &mut || true).expect_err("a fault")
    };
    says(
        &asked(1.0, Some(1e-3), 1e-3),
        "step_s = 0.001 must be above 0 and at most the shortest delay, 0.0002 s; leave it out for 4.000e-6 s",
    );
    // DCQCN's delay of 4 us would allow 80 ns; a fifth of the longest step, a twentieth of 50 us, is more: 0.5 us.
    let step_s = Some(1e-5);
    says(
        &solve("dcqcn", "{}", Timing { end_s: 1.0, step_s, every_s: 1e-3 }, None, &mut || true).expect_err("a fault"),
        "step_s = 0.00001 must be above 0 and at most the shortest delay, 0.000004 s; leave it out for 5.000e-7 s",
    );
    let none = asked(1.0, Some(0.0), 1e-3);
    assert!(none.to_string().starts_with("step_s = 0 must be above 0 and at most the shortest delay"), "{none}");
    says(&asked(0.0, None, 1e-3), "end_s = 0 s must be above 0 and finite");
    says(&asked(1.0, None, f64::NAN), "every_s = NaN s must be above 0 and finite");
    says(&asked(1.0, None, 1e-9), "1000000000 rows are more than the 20000000 allowed; lengthen every_s");
}

/// A fiftieth of the delay, 1.7 us of 85, but not less than a fifth of the longest step of DCQCN, 2.5 us, nor more than that,
/// nor than the delay itself. Without a delay the model's alone counts.
#[test]
fn a_step_resolves_the_delay_and_the_model() {
    for (delay, us) in [("85e-6", 1.7), ("4e-6", 0.5), ("0.1e-6", 0.1), ("500e-6", 2.5), ("0", 2.5)] {
        let step = solved("dcqcn", &format!(r#"{{"delay_s": {delay}}}"#), 1e-4, None).step_s;
        assert!((step * 1e6 - us).abs() < 1e-9, "{delay} s: {step}");
    }
    // As long as the delay it may be.
    let timing = Timing { end_s: 1e-3, step_s: Some(200e-6), every_s: 1e-3 };
    assert_eq!(solve("qcn", "{}", timing, None, &mut || true).map(|run| run.step_s), Ok(200e-6));
    let timing = Timing { end_s: 1e6, step_s: Some(1e-5), every_s: 1e3 };
    says(
        &solve("qcn", "{}", timing, None, &mut || true).expect_err("a fault"),
        "100000000000 steps are more than the 10000000000 allowed; lengthen step_s or shorten end_s",
    );
}

#[test]
fn ranges_have_two_ends() {
    says(
        &refused("qcn", r#"{"sampling_probability": 1}"#, None),
        "model qcn: sampling_probability = 1 must be above 0 and at most 0.999",
    );
    says(
        &refused("qcn", r#"{"sources": 0}"#, None),
        "model qcn: sources = 0 must be at least 1 and at most 4294967295",
    );
    says(&refused("ecm", r#"{"w": -1}"#, None), "model ecm: w = -1 must be at least 0");
    says(
        &refused("qcn", "{}", Some(r#"{"from": "rest"}"#)),
        r#"model qcn: from must be "start" or "equilibrium", not "rest""#,
    );
    // What is null has its default.
    let queue = |initial: &str| {
        let run = solved("ecm", r#"{"w": null}"#, 1e-4, Some(initial));
        run.column("queue_bytes").expect("queue")[0]
    };
    assert_eq!([queue(r#"{"from": "start"}"#), queue(r#"{"queue_bytes": null}"#)], [24e3, 24e3]);
}

#[test]
fn every_default_solves_and_has_the_columns_it_lists() {
    let listed: Value = serde_json::from_str(&models_json()).expect("JSON");
    for model in listed.as_array().expect("a list") {
        let name = model["name"].as_str().expect("a name");
        let trajectory = solved(name, "{}", 1e-3, None);
        let columns: Vec<&str> = trajectory.columns.iter().map(|column| column.name.as_str()).collect();
        let named: Vec<&str> =
            model["columns"].as_array().expect("columns").iter().filter_map(|column| column["name"].as_str()).collect();
        assert_eq!(columns, named, "{name}");
        for column in &trajectory.columns {
            assert_eq!(column.values.len(), 4001, "{name}.{}", column.name);
            assert!(column.values.iter().all(|value| value.is_finite()), "{name}.{}", column.name);
        }
        for parameter in model["parameters"].as_array().expect("parameters") {
            assert!(parameter["about"].as_str().is_some_and(|about| !about.is_empty()), "{parameter}");
        }
    }
}

/// Ten sources of QCN without clamps, at a delay of 600 us where the linear edge is 284 us: the rows end where the solution
/// passes the bound, and the trajectory says when. With clamps the same run reaches its end.
#[test]
fn a_solution_that_grows_is_returned_as_far_as_it_goes() {
    let clamps = ["one_sided", "clip_feedback", "clamp_target", "rate_cap", "clamp_queue"];
    let free: String = clamps.iter().map(|name| format!(r#", "{name}": false"#)).collect();
    let solve = |switches: &str| {
        let parameters = format!(r#"{{"sources": 10, "delay_s": 600e-6{switches}}}"#);
        let initial = r#"{"from": "equilibrium", "queue_bytes": 40e3}"#;
        solved("qcn", &parameters, 1.0, Some(initial))
    };
    let (grown, clamped) = (solve(&free), solve(""));
    let (rows, end) = (grown.column("time_s").expect("time"), grown.unbounded_s.expect("it grows"));
    assert!(rows.len() > 10 && rows.len() < 4001, "{}", rows.len());
    assert!(rows[rows.len() - 1] < end && end < 1.0, "{end}");
    assert!(grown.columns.iter().all(|column| column.values.len() == rows.len()));
    assert!(grown.columns.iter().all(|column| column.values.iter().all(|value| value.is_finite())));
    let queue = grown.column("queue_bytes").expect("queue");
    assert!(queue.iter().any(|queue| queue.abs() > 1e9), "it stopped early");
    assert_eq!((clamped.unbounded_s, clamped.column("time_s").map(<[f64]>::len)), (None, Some(4001)));
}

/// 25 000 steps of 4 us: the caller is asked after 16 384. A solution beyond the bound at its start, with rates of 5e21 frames
/// a second, ends when it would be asked, and is no error.
#[test]
fn a_caller_that_says_no_stops_it_and_growth_does_not() {
    let timing = Timing { end_s: 0.1, step_s: None, every_s: 0.1 };
    assert_eq!(solve("qcn", "{}", timing, None, &mut || false), Err(FluidError::Stopped));
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        true
    };
    let grown = solve("dcqcn", r#"{"capacity_bps": 40e24}"#, timing, None, &mut go_on).expect("a solution");
    assert_eq!((grown.unbounded_s, grown.column("time_s").map(<[f64]>::len), asked), (Some(0.0), Some(0), 0));
}
