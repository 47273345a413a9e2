//! One file a scheme.

pub mod af_qcn;
pub mod bfc;
pub mod dcqcn;
pub mod dctcp;
pub mod e2cm;
pub mod ecm;
pub mod ecm_plus;
pub mod fb99;
pub mod fb_hat;
pub mod fecn;
pub mod hpcc;
pub mod hpcc_pint;
pub mod nic_fb;
pub mod none;
pub mod nscc;
pub mod pcn;
pub mod powertcp;
pub mod qcn;
pub mod qcn_plus;
pub mod rccc;
pub mod sfc;
pub mod sonar;
pub mod swift;
pub mod theta_powertcp;
pub mod three_point;
pub mod timely;
