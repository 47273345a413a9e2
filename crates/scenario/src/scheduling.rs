//! How a switch shares a link among classes: the keys `weights` and `quantum` of `[[switch]]`.

use super::devices::Switches;
use super::fault::Fault;
use super::located::LocatedFault;
use qcnlab_units::Bytes;

/// Octets that a turn of each class adds; 0 for strict classes. `None` where all classes are strict.
///
/// Without `quantum`, the smallest weight sends one of the longest frames in a turn.
pub(super) fn quanta(switch: &Switches, table: usize, longest: Bytes) -> Result<Option<[Bytes; 8]>, LocatedFault> {
    let key = |name: &str| format!("switch.{table}.{name}");
    let Some(text) = &switch.weights else {
        return match switch.quantum {
            Some(_) => Err(LocatedFault::new(Fault::QuantumWithoutWeights, &[key("quantum")])),
            None => Ok(None),
        };
    };
    let Some(weights) = weights(text) else {
        return Err(LocatedFault::new(Fault::Weights { text: text.clone() }, &[key("weights")]));
    };
    let smallest = weights.iter().copied().filter(|weight| *weight > 0).min().unwrap_or(1);
    let of_one = |weight: u64| match switch.quantum {
        Some(quantum) => quantum.get() * weight,
        None => (longest.get() * weight).div_ceil(smallest),
    };
    Ok(Some(weights.map(|weight| Bytes::new(of_one(weight)))))
}

/// The weights of a list such as `3: 2, 5: 1`, by class; 0 for classes that it does not name.
fn weights(text: &str) -> Option<[u64; 8]> {
    let mut weights = [0; 8];
    for part in text.split(',') {
        let (class, weight) = part.split_once(':')?;
        let class = class.trim().parse::<usize>().ok().filter(|class| *class < 8)?;
        let weight = weight.trim().parse::<u64>().ok().filter(|weight| (1..=1000).contains(weight))?;
        if std::mem::replace(&mut weights[class], weight) != 0 {
            return None;
        }
    }
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_by_class() {
        assert_eq!(weights("3: 2, 5:1"), Some([0, 0, 0, 2, 0, 1, 0, 0]));
        for wrong in ["", "3", "3: 0", "8: 1", "3: 1001", "3: 1, 3: 2", "3: -1", "3=2"] {
            assert_eq!(weights(wrong), None, "{wrong}");
        }
    }
}
