//! The shape of the head as a signed function: ellipsoids and round cones, blended smoothly.
//!
//! Lengths are metres on a head of 0.23 m from chin to crown, whose landmarks follow the means of adults: eyes half way
//! up, hairline, brow, base of the nose and chin a third of the face apart, 0.155 m wide and 0.2 m long.

use glam::{DMat3, DVec3, dvec3};

/// Height of the head that the numbers below describe [m].
pub(super) const REFERENCE_HEIGHT: f64 = 0.23;

/// Height at which the shoulders are cut off [m].
pub(super) const CUT: f64 = -0.325;

/// How a piece joins what is there already; the length is the width of the blend [m].
#[derive(Clone, Copy)]
enum Join {
    Add(f64),
    Carve(f64),
}

#[derive(Clone, Copy)]
enum Form {
    /// Semi-axes [m], and the rotation into the frame of the axes.
    Ellipsoid { axes: DVec3, to_local: DMat3 },
    /// A cone with round ends: the other end relative to the first [m], and the two radii [m].
    Cone { along: DVec3, radii: [f64; 2] },
}

/// One bone, muscle or hollow; pairs are given on the left side (+x) and mirrored.
#[derive(Clone, Copy)]
struct Piece {
    form: Form,
    centre: DVec3,
    join: Join,
    paired: bool,
    /// Middle and radius of a ball around it [m]: pieces too far away to matter are skipped.
    ball: (DVec3, f64),
}

impl Piece {
    fn ellipsoid(centre: DVec3, axes: DVec3, join: Join) -> Self {
        let form = Form::Ellipsoid { axes, to_local: DMat3::IDENTITY };
        Self { form, centre, join, paired: false, ball: (centre, axes.max_element()) }
    }

    fn cone(from: DVec3, radius: f64, to: DVec3, other_radius: f64, join: Join) -> Self {
        let along = to - from;
        let ball = (from + 0.5 * along, 0.5 * along.length() + radius.max(other_radius));
        Self { form: Form::Cone { along, radii: [radius, other_radius] }, centre: from, join, paired: false, ball }
    }

    fn paired(mut self) -> Self {
        self.paired = true;
        self
    }

    /// Turns an ellipsoid about its centre: first about x by `pitch`, then about y by `yaw`, then about z by `roll` [rad].
    fn turned(mut self, pitch: f64, yaw: f64, roll: f64) -> Self {
        if let Form::Ellipsoid { to_local, .. } = &mut self.form {
            let turn = DMat3::from_rotation_z(roll) * DMat3::from_rotation_y(yaw) * DMat3::from_rotation_x(pitch);
            *to_local = turn.transpose();
        }
        self
    }

    fn distance(&self, p: DVec3) -> f64 {
        let p = p - self.centre;
        match self.form {
            Form::Ellipsoid { axes, to_local } => {
                // First-order distance: exact on the surface and along it, which is where the mesh is made.
                let q = to_local * p;
                let scaled = (q / axes).length();
                let gradient = (q / (axes * axes)).length();
                if gradient > 0.0 { scaled * (scaled - 1.0) / gradient } else { -axes.min_element() }
            }
            Form::Cone { along, radii } => {
                // A ball of linearly varying radius swept along the axis; the slope correction keeps the gradient 1.
                let slope = (radii[0] - radii[1]) / along.length();
                let t = p.dot(along) / along.length_squared();
                let across = (p - t * along).length();
                let shift = across * slope / (along.length() * (1.0 - slope * slope).max(0.01).sqrt());
                let t = (t - shift).clamp(0.0, 1.0);
                (p - t * along).length() - radii[0] - t * (radii[1] - radii[0])
            }
        }
    }
}

/// Minimum that blends over a width `k`: a quadratic with compact support.
fn smooth_min(a: f64, b: f64, k: f64) -> f64 {
    let h = (k - (a - b).abs()).max(0.0);
    a.min(b) - h * h / (4.0 * k)
}

/// The whole head and shoulders.
pub(super) struct Anatomy {
    head: Vec<Piece>,
    ears: Vec<Piece>,
}

impl Anatomy {
    pub fn new() -> Self {
        let mut head = skull();
        head.extend(face());
        head.extend(neck_and_shoulders());
        Self { head, ears: ears() }
    }

    /// Signed distance, about, to the surface [m]: negative inside.
    pub fn distance(&self, p: DVec3) -> f64 {
        let without = self.distance_without_ears(p);
        let whole = blend(&self.ears, without, p);
        // The shoulders end in a plane with a softly rounded rim.
        -smooth_min(-whole, p.y - CUT, 0.03)
    }

    /// The same without the ears, to tell them apart.
    pub fn distance_without_ears(&self, p: DVec3) -> f64 {
        blend(&self.head, f64::MAX, p)
    }

    /// Gradient of the distance, by differences over the corners of a tetrahedron.
    pub fn gradient(&self, p: DVec3) -> DVec3 {
        let h = 2e-4;
        let corners = [dvec3(1.0, 1.0, 1.0), dvec3(1.0, -1.0, -1.0), dvec3(-1.0, 1.0, -1.0), dvec3(-1.0, -1.0, 1.0)];
        corners.iter().map(|&corner| corner * self.distance(p + h * corner)).sum::<DVec3>() / (4.0 * h)
    }
}

fn blend(pieces: &[Piece], start: f64, p: DVec3) -> f64 {
    // A rounded |x| keeps the surface smooth where the two sides meet.
    let mirrored = dvec3((p.x * p.x + 9e-6).sqrt(), p.y, p.z);
    let mut distance = start;
    for piece in pieces {
        let q = if piece.paired { mirrored } else { p };
        let nearest = (q - piece.ball.0).length() - piece.ball.1;
        distance = match piece.join {
            Join::Add(k) if nearest < distance + k => smooth_min(distance, piece.distance(q), k),
            Join::Carve(k) if nearest < k - distance => -smooth_min(-distance, piece.distance(q), k),
            _ => distance,
        };
    }
    distance
}

use Join::{Add, Carve};

fn skull() -> Vec<Piece> {
    let e = Piece::ellipsoid;
    vec![
        e(dvec3(0.0, 0.026, -0.012), dvec3(0.070, 0.088, 0.092), Add(0.01)),
        // Parietal bones: the skull is widest behind the ears.
        e(dvec3(0.022, 0.034, -0.030), dvec3(0.052, 0.066, 0.062), Add(0.03)).paired(),
        // Occiput.
        e(dvec3(0.0, 0.008, -0.055), dvec3(0.056, 0.056, 0.050), Add(0.03)),
        // Forehead.
        e(dvec3(0.0, 0.046, 0.028), dvec3(0.057, 0.050, 0.054), Add(0.03)),
    ]
}

fn face() -> Vec<Piece> {
    let (e, c) = (Piece::ellipsoid, Piece::cone);
    vec![
        // Middle of the face, from the brow to the chin.
        e(dvec3(0.0, -0.035, 0.026), dvec3(0.053, 0.068, 0.056), Add(0.03)),
        // Jaw: ramus, body and chin.
        c(dvec3(0.058, -0.012, 0.002), 0.012, dvec3(0.047, -0.062, 0.012), 0.012, Add(0.03)).paired(),
        c(dvec3(0.047, -0.062, 0.012), 0.012, dvec3(0.013, -0.099, 0.064), 0.013, Add(0.03)).paired(),
        e(dvec3(0.0, -0.0990, 0.0700), dvec3(0.019, 0.0150, 0.0165), Add(0.022)),
        // Cheek bones with their arches, and the flesh below.
        e(dvec3(0.042, -0.022, 0.050), dvec3(0.018, 0.013, 0.017), Add(0.03)).turned(0.0, 0.6, -0.2).paired(),
        c(dvec3(0.050, -0.018, 0.042), 0.008, dvec3(0.063, -0.010, 0.004), 0.007, Add(0.025)).paired(),
        e(dvec3(0.036, -0.052, 0.042), dvec3(0.018, 0.028, 0.024), Add(0.035)).paired(),
        // The mound of the teeth.
        e(dvec3(0.0, -0.066, 0.056), dvec3(0.031, 0.028, 0.031), Add(0.025)),
        // Brow ridges.
        c(dvec3(0.012, 0.014, 0.077), 0.009, dvec3(0.042, 0.018, 0.058), 0.008, Add(0.02)).paired(),
        // Eye sockets.
        e(dvec3(0.0325, -0.001, 0.090), dvec3(0.021, 0.0125, 0.018), Carve(0.016)).turned(0.0, 0.25, -0.1).paired(),
        // Eyeballs, with the upper lid half closed over them and the lower lid below.
        e(dvec3(0.0315, -0.002, 0.0650), dvec3(0.0130, 0.0120, 0.0120), Add(0.006)).paired(),
        e(dvec3(0.0315, 0.0035, 0.0655), dvec3(0.0150, 0.0080, 0.0128), Add(0.003)).turned(-0.15, 0.2, -0.08).paired(),
        e(dvec3(0.0315, -0.0100, 0.0660), dvec3(0.0140, 0.0050, 0.0105), Add(0.005)).turned(0.1, 0.2, 0.05).paired(),
        // Nose: bridge, body, tip, wings, columella, nostrils.
        c(dvec3(0.0, 0.010, 0.077), 0.0085, dvec3(0.0, -0.034, 0.099), 0.0080, Add(0.016)),
        e(dvec3(0.0, -0.0380, 0.0860), dvec3(0.0135, 0.0130, 0.0140), Add(0.014)),
        e(dvec3(0.0, -0.0375, 0.1020), dvec3(0.0088, 0.0085, 0.0095), Add(0.010)),
        e(dvec3(0.0120, -0.0425, 0.0915), dvec3(0.0062, 0.0070, 0.0105), Add(0.005)).turned(0.0, 0.3, 0.0).paired(),
        c(dvec3(0.0, -0.0430, 0.1010), 0.0035, dvec3(0.0, -0.0495, 0.0880), 0.0040, Add(0.006)),
        e(dvec3(0.0068, -0.0500, 0.0950), dvec3(0.0030, 0.0042, 0.0058), Carve(0.004)).turned(0.0, 0.3, 0.0).paired(),
        // Philtrum and lips.
        e(dvec3(0.0, -0.0560, 0.0935), dvec3(0.0030, 0.0065, 0.0045), Carve(0.007)),
        e(dvec3(0.0090, -0.0652, 0.0835), dvec3(0.0165, 0.0052, 0.0088), Add(0.005)).turned(0.25, 0.42, -0.13).paired(),
        e(dvec3(0.0, -0.0766, 0.0818), dvec3(0.0200, 0.0062, 0.0100), Add(0.0035)),
        c(dvec3(0.0, -0.0706, 0.0945), 0.0010, dvec3(0.0185, -0.0714, 0.0850), 0.0006, Carve(0.007)).paired(),
        e(dvec3(0.0, -0.0890, 0.0960), dvec3(0.0150, 0.0050, 0.0080), Carve(0.014)),
    ]
}

fn neck_and_shoulders() -> Vec<Piece> {
    let (e, c) = (Piece::ellipsoid, Piece::cone);
    vec![
        c(dvec3(0.0, -0.040, -0.030), 0.047, dvec3(0.0, -0.190, -0.052), 0.050, Add(0.025)),
        // Sternomastoid: from behind the ear to the notch of the breastbone.
        c(dvec3(0.048, -0.045, -0.032), 0.010, dvec3(0.016, -0.205, 0.000), 0.009, Add(0.025)).paired(),
        // Trapezius.
        c(dvec3(0.020, -0.135, -0.070), 0.026, dvec3(0.130, -0.232, -0.060), 0.024, Add(0.05)).paired(),
        // Chest and back.
        e(dvec3(0.0, -0.345, -0.045), dvec3(0.152, 0.142, 0.085), Add(0.05)),
        e(dvec3(0.0, -0.325, -0.012), dvec3(0.120, 0.085, 0.060), Add(0.06)),
        // Upper arms.
        c(dvec3(0.152, -0.258, -0.052), 0.040, dvec3(0.162, -0.360, -0.050), 0.038, Add(0.05)).paired(),
        // Collar bones.
        c(dvec3(0.018, -0.215, 0.006), 0.006, dvec3(0.140, -0.218, -0.036), 0.007, Add(0.03)).paired(),
    ]
}

/// One ear in its own frame (x outwards, y up, z to the front), placed on the side of the head.
fn ears() -> Vec<Piece> {
    let (tilt, flare) = (-0.15, -0.42);
    let turn = DMat3::from_rotation_y(flare) * DMat3::from_rotation_x(tilt);
    let at = |x: f64, y: f64, z: f64| dvec3(0.0765, -0.019, -0.018) + turn * dvec3(x, y, z);
    let e = |centre: [f64; 3], axes: [f64; 3], join: Join| {
        let piece = Piece::ellipsoid(at(centre[0], centre[1], centre[2]), axes.into(), join);
        piece.turned(tilt, flare, 0.0).paired()
    };
    let mut pieces = vec![
        // The shell, its root and the lobe.
        e([0.0, 0.002, 0.000], [0.0055, 0.031, 0.0185], Add(0.007)),
        e([-0.007, 0.000, 0.008], [0.0090, 0.022, 0.0090], Add(0.008)),
        e([-0.010, 0.000, 0.000], [0.0090, 0.020, 0.0110], Add(0.010)),
        e([0.0, -0.026, 0.006], [0.0045, 0.010, 0.0085], Add(0.006)),
        // The hollow inside the rim.
        e([0.0075, 0.005, 0.000], [0.0065, 0.023, 0.0125], Carve(0.006)),
    ];
    // The rim runs from the front over the top to the lobe.
    let rim = |degrees: f64| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        at(0.0020, 0.003 + 0.0280 * sin, 0.0165 * cos)
    };
    for step in 0..14 {
        let degrees = 20.0 + 15.0 * f64::from(step);
        pieces.push(Piece::cone(rim(degrees), 0.0044, rim(degrees + 15.0), 0.0044, Add(0.004)).paired());
    }
    pieces.extend([
        // Inner ridge, tragus, bowl.
        Piece::cone(at(0.0012, -0.017, -0.004), 0.0036, at(0.0012, 0.014, -0.003), 0.0036, Add(0.006)).paired(),
        e([0.0030, -0.008, 0.0145], [0.0040, 0.0065, 0.0045], Add(0.005)),
        e([0.0070, -0.004, 0.005], [0.0075, 0.0095, 0.0062], Carve(0.006)),
    ]);
    pieces
}
