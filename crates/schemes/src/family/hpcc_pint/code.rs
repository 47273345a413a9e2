//! A load as an octet: its logarithm, rounded at random.
//!
//! A load that lies a share `f` of the way from one code to the next is rounded up with probability `f`. Its logarithm is
//! right in the mean, and what is read back is off by less than one step of the base, 5 %. In the mean it is too large by
//! the factor `base^-f (1 + f (base - 1))`: by 0.03 % at most, in the middle between two codes.

use crate::dice::Dice;

/// The ratio of the loads of neighbouring codes.
pub const BASE: f64 = 1.05;

/// The load of code 1. Code 255 stands for 241 of it in thousandths: 240.
pub const LEAST: f64 = 0.001;

/// Returns the code of a load, from 1 to 255; 0 for one so small that it has none.
pub fn write(load: f64, dice: &mut Dice) -> u8 {
    let exact = position(load);
    if exact <= 0.0 {
        return 0;
    }
    let down = exact as u64;
    let up = u64::from(dice.uniform(0.0, 1.0) < exact - down as f64);
    (down + up).min(255) as u8
}

/// Returns the load that a code stands for.
pub fn read(code: u8) -> f64 {
    if code == 0 { 0.0 } else { LEAST * libm::pow(BASE, f64::from(code - 1)) }
}

/// Returns where a load lies among the codes.
pub(super) fn position(load: f64) -> f64 {
    if load > 0.0 { 1.0 + libm::log(load / LEAST) / libm::log(BASE) } else { 0.0 }
}
