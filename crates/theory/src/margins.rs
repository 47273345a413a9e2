//! Margins of the linear control loops behind QCN and ECM, as `qcnlab.analysis` has them.
//!
//! A loop is L(s) = N(s) / D(s) e^{-s d}. Its gain crossovers are the frequencies at which |L| = 1; the phase margin is how
//! far the phase there is from -180 degrees, and the critical delay is the d at which it is gone. No run depends on these
//! numbers, so they need not be the same to the last bit on every machine.

use crate::bottleneck::{Bottleneck, Contenders, NoBottleneck};
use qcnlab_scenario::Scenario;
use serde_json::{Value, json};
use std::f64::consts::{PI, TAU};

/// The open loop of a control law around its equilibrium, without its delay. Coefficients from the highest power of s.
struct OpenLoop {
    title: &'static str,
    num: Vec<f64>,
    den: Vec<f64>,
}

/// What a loop tolerates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Margins {
    phase_deg: f64,
    at_rad_s: f64,
    critical_delay_s: f64,
}

/// Octets of queue that count as 1 in ECM's gains.
const PAGE: f64 = 64.0;

/// Returns the margins of the loops behind the scenario as JSON: `port`, and `phases` from the end of the warm-up, each
/// with `from_s`, `until_s`, `capacity_bps`, `sources`, `delay_s` (the loop's), `loops` (`title`, `phase_margin_deg`,
/// `at_rad_s`, `critical_delay_s`, `stable`) and `why` there are none, or null.
///
/// # Errors
/// When the scenario does not have a single bottleneck.
pub fn margins_json(scenario: &Scenario) -> Result<String, NoBottleneck> {
    let bottleneck = Bottleneck::of(scenario)?;
    let values: Value = serde_json::from_str(&scenario.to_base_json()).unwrap_or_default();
    let phases = bottleneck.phases.iter().map(|phase| {
        let loops = match &phase.contenders {
            Some(contenders) => loops(&values["scheme"], contenders),
            None => Err("the port is not congested".to_owned()),
        };
        let contenders = phase.contenders.as_ref();
        let delay = contenders.map_or(0.0, |contenders| contenders.loop_delay_s.mean);
        json!({
            "from_s": phase.from.seconds(),
            "until_s": phase.until.seconds(),
            "capacity_bps": contenders.map(|contenders| contenders.capacity_bps),
            "sources": contenders.map(|contenders| contenders.sources.len()),
            "delay_s": delay,
            "why": loops.as_ref().err(),
            "loops": loops.iter().flatten().filter_map(|one| loop_json(one, delay)).collect::<Value>(),
        })
    });
    Ok(json!({ "port": bottleneck.port, "phases": phases.collect::<Value>() }).to_string())
}

fn loop_json(of: &OpenLoop, delay: f64) -> Option<Value> {
    let margins = of.margins(delay)?;
    Some(json!({
        "title": of.title,
        "phase_margin_deg": margins.phase_deg,
        "at_rad_s": margins.at_rad_s,
        "critical_delay_s": margins.critical_delay_s,
        "stable": delay < margins.critical_delay_s,
    }))
}

/// The loops of a scheme, or why there are none.
fn loops(scheme: &Value, contenders: &Contenders) -> Result<Vec<OpenLoop>, String> {
    match scheme["name"].as_str() {
        Some("qcn" | "qcn_byte_counter") if scheme["rp"]["clock"] != "timer" => {
            Ok(vec![qcn(scheme, contenders, false)?, qcn(scheme, contenders, true)?])
        }
        Some("ecm") => Ok(ecm(scheme, contenders)),
        _ => Err("This scheme has no linear loop here. The command qcnlab analyse knows more.".to_owned()),
    }
}

/// QCN with the byte counter: Alizadeh et al., SIGMETRICS 2011; `kept`: a message in the first cycle does not move the
/// target, as in the standard.
fn qcn(scheme: &Value, contenders: &Contenders, kept: bool) -> Result<OpenLoop, String> {
    let cp = |key: &str| scheme["cp"][key].as_f64().unwrap_or(0.0);
    let rp = |key: &str| scheme["rp"][key].as_f64().unwrap_or(0.0);
    let (w, set_point, frame) = (cp("w"), cp("set_point"), contenders.frame_bytes.mean);
    let full = (1.0 + 2.0 * w) * set_point;
    let levels = cp("fb_bits").exp2();
    let bits = (full as u64).checked_ilog2().map_or(0, |top| top + 1);
    let msb = scheme["cp"]["quantizer"] == "msb";
    let per_level = if msb { f64::from(bits).exp2() / levels } else { full / (levels - 1.0) };
    let (p, cut) = (frame / cp("sample_base"), rp("gd") / per_level * frame);
    let capacity = contenders.capacity_bps / (8.0 * frame);
    let share = capacity / contenders.sources.len() as f64;
    let cycle = rp("byte_reset") / frame;
    let unsampled = cycle * (-p).ln_1p();
    let eta = p / (-unsampled).exp_m1();
    let fast = rp("threshold") - if kept { 1.0 } else { 0.0 };
    let zeta = eta * (fast * unsampled).exp() / if kept { 1.0 + cycle * p } else { 1.0 };
    let ai = rp("ai_rate") / (8.0 * frame);
    let step = zeta * ai / p;
    let (gap, rise) = if kept { (step * (1.0 + cycle * eta), eta * step) } else { (step, eta * step / 2.0) };
    let feedback = rise / (cut * p * share) * frame;
    if feedback > full {
        return Err(format!(
            "no equilibrium: {} sources need feedback of {feedback:.0} B, and full feedback is {full:.0} B",
            contenders.sources.len()
        ));
    }
    let gamma = p * share;
    let (answer, den) = if kept {
        let end = share / cycle;
        let later = gamma + eta * share / 2.0;
        let answer = vec![1.0, end / 2.0 + later, end * gamma / 2.0];
        let scaled = answer.iter().map(|term| rise * term);
        let mut den: Vec<f64> = vec![1.0, end + later, end * later, 0.0, 0.0];
        den[1..4].iter_mut().zip(scaled).for_each(|(term, more)| *term += more);
        (answer, den)
    } else {
        let damping = gamma + eta * (share + gap) / 2.0;
        (vec![1.0, gamma], vec![1.0, damping, eta * zeta * ai * share / 2.0, 0.0])
    };
    let gain = cut * p * capacity * share;
    let num = product(&[w / (capacity * p), 1.0], &answer).into_iter().map(|term| gain * term).collect();
    Ok(OpenLoop { title: if kept { "QCN, first cycle kept" } else { "QCN, as published" }, num, den })
}

/// ECM while rates grow and while they shrink: Lu et al., Allerton 2006.
fn ecm(scheme: &Value, contenders: &Contenders) -> Vec<OpenLoop> {
    let rp = |key: &str| scheme["rp"][key].as_f64().unwrap_or(0.0);
    let sample = scheme["cp"]["sample_base"].as_f64().unwrap_or(1.0);
    let sources = contenders.sources.len() as f64;
    let lead = rp("w") * 8.0 * sample / contenders.capacity_bps;
    let per_bit = contenders.capacity_bps / (8.0 * sample) / sources / (8.0 * PAGE);
    let of =
        |title, stiffness: f64| OpenLoop { title, num: vec![stiffness * lead, stiffness], den: vec![1.0, 0.0, 0.0] };
    vec![
        of("ECM, rates grow", per_bit * sources * rp("gi") * rp("rate_unit")),
        of("ECM, rates shrink", per_bit * contenders.capacity_bps * rp("gd")),
    ]
}

impl OpenLoop {
    /// The margins at a delay; `None` where |L| is nowhere 1. The loops here are stable without delay.
    fn margins(&self, delay: f64) -> Option<Margins> {
        let crossings = self.gain_crossovers();
        let margin = |w: f64| wrapped(PI + self.phase(w) - w * delay).to_degrees();
        let nearest = |a: &f64, b: &f64| margin(*a).abs().total_cmp(&margin(*b).abs());
        let at_rad_s = crossings.iter().copied().min_by(nearest)?;
        let edge = |w: &f64| (PI + self.phase(*w)).rem_euclid(TAU) / w;
        let critical_delay_s = crossings.iter().map(edge).fold(f64::INFINITY, f64::min);
        Some(Margins { phase_deg: margin(at_rad_s), at_rad_s, critical_delay_s })
    }

    /// log |L(jw)|, which no delay changes.
    fn excess(&self, w: f64) -> f64 {
        let size = |terms: &[f64]| {
            let (re, im) = at(terms, w);
            re.hypot(im).ln()
        };
        size(&self.num) - size(&self.den)
    }

    /// The phase of L(jw) without its delay.
    fn phase(&self, w: f64) -> f64 {
        let angle = |terms: &[f64]| {
            let (re, im) = at(terms, w);
            im.atan2(re)
        };
        angle(&self.num) - angle(&self.den)
    }

    /// Frequencies at which |L| = 1, rad/s: between 10^-2 and 10^10, 100 steps a decade, then halved.
    fn gain_crossovers(&self) -> Vec<f64> {
        let grid: Vec<f64> = (0..=1200).map(|step| 10f64.powf(f64::from(step) / 100.0 - 2.0)).collect();
        let above = |w: f64| self.excess(w) > 0.0;
        let crossed = grid.windows(2).filter(|pair| above(pair[0]) != above(pair[1]));
        let halve = |pair: &[f64]| {
            let (mut low, mut high) = (pair[0], pair[1]);
            for _ in 0..60 {
                let middle = (low * high).sqrt();
                if above(low) == above(middle) { low = middle } else { high = middle }
            }
            (low * high).sqrt()
        };
        crossed.map(halve).collect()
    }
}

/// A polynomial at jw: real and imaginary part.
fn at(terms: &[f64], w: f64) -> (f64, f64) {
    terms.iter().fold((0.0, 0.0), |(re, im), term| (-im * w + term, re * w))
}

fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut terms = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, y)| terms[i + j] += x * y);
    }
    terms
}

/// An angle between -pi and pi.
fn wrapped(angle: f64) -> f64 {
    (angle + PI).rem_euclid(TAU) - PI
}

#[cfg(test)]
mod tests {
    use super::*;

    fn margins(name: &str, set: &[&str], phase: usize) -> Vec<[f64; 3]> {
        let scenario = Scenario::shipped(name).and_then(|scenario| scenario.with_overrides(set));
        let json =
            margins_json(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap_or_else(|why| panic!("{why}"));
        let value: Value = serde_json::from_str(&json).unwrap_or_default();
        let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or(f64::NAN);
        let keys = ["phase_margin_deg", "at_rad_s", "critical_delay_s"];
        let loops = value["phases"][phase]["loops"].as_array().into_iter().flatten();
        loops.map(|of| keys.map(|key| number(of, key))).collect()
    }

    fn near(got: f64, expected: f64) {
        assert!((got / expected - 1.0).abs() < 1e-6, "{got} instead of {expected}");
    }

    /// A pure integrator of gain k crosses 1 at w = k with 90 degrees, and is at its edge with k d = pi / 2.
    #[test]
    fn an_integrator() {
        let of = OpenLoop { title: "", num: vec![1000.0], den: vec![1.0, 0.0] };
        let margins = of.margins(0.5e-3).unwrap_or_else(|| panic!("it crosses"));
        near(margins.at_rad_s, 1000.0);
        near(margins.phase_deg, 90.0 - (1000.0 * 0.5e-3_f64).to_degrees());
        near(margins.critical_delay_s, PI / 2.0 / 1000.0);
    }

    /// The values that `Qcn.from_scenario(...).loops()` and `Ecm.from_scenario(...).loops()` of `qcnlab.analysis` give, of
    /// the phase: margin in degrees, crossover in rad/s, critical delay in s.
    #[test]
    fn loops_are_those_of_the_python_package() {
        let star = "og-hotspot-2src-10g-to-500m-rtt200us";
        type Case<'a> = (&'a str, &'a [&'a str], usize, [[f64; 3]; 2]);
        let expected: [Case<'_>; 4] = [
            (
                star,
                &[],
                0,
                [
                    [3.066950011127624, 4461.3520419416045, 0.00021199824070932487],
                    [19.551420447086038, 4234.709773826703, 0.00028058088475211695],
                ],
            ),
            (
                star,
                &[],
                1,
                [
                    [51.635035829833676, 223.06724590173158, 0.004240043534732341],
                    [65.65349088152446, 211.73229901700688, 0.0056118789935712034],
                ],
            ),
            (
                "og-hotspot-10src-10g-to-500m-rtt40us",
                &["scheme.name=qcn"],
                1,
                [
                    [29.027022373097722, 89.4161058533861, 0.0057058373525157025],
                    [35.9383176759768, 89.55237564148015, 0.007044191307940428],
                ],
            ),
            (
                star,
                &["scheme.name=ecm"],
                0,
                [
                    [-84.97111376817968, 8633.664735511891, 2.8227554604772056e-05],
                    [-138.08069897234, 13961.332572171606, 2.7383036822277522e-05],
                ],
            ),
        ];
        for (name, set, phase, loops) in expected {
            let got = margins(name, set, phase);
            assert_eq!(got.len(), loops.len(), "{name}");
            got.iter().flatten().zip(loops.iter().flatten()).for_each(|(got, expected)| near(*got, *expected));
        }
    }

    #[test]
    fn a_scheme_without_a_loop_says_so() {
        let scenario = Scenario::shipped("og-hotspot-2src-10g-to-500m-rtt200us");
        let scenario = scenario.and_then(|scenario| scenario.with_overrides(&["scheme.name=dcqcn"]));
        let json = margins_json(&scenario.unwrap_or_else(|error| panic!("{error}"))).unwrap_or_default();
        assert!(json.contains("no linear loop here"), "{json}");
    }
}
