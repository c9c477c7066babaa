//! One pass over all contacts: every link and every touch once, by the grain that owns it.

use super::law::{Answer, Law, Meeting, Memory, answer};
use super::solids::{Ball, Carrier, FACES, Face, Solid, faces};
use super::state::{Damp, Link, Load, Mover, Press, Reaction, Touch, Vigil};
use crate::rigid::BodyState;
use crate::wetting::grains::WetLaw;
use glam::{DVec3, Vec3A};

/// How much faster than a grain moves into a further face it may be strained: the part of the grain's speed, for rounding, and of the solid's, which may turn.
const SLACK: f64 = 0.01;
const LOOSE: f64 = 0.1;
/// Grains that are worked on without looking for help.
const LEAF: usize = 512;

/// What the pass reads.
pub(crate) struct Context<'a> {
    pub law: Law,
    pub wet: Option<WetLaw>,
    pub positions: &'a [DVec3],
    /// Where grains were when neighbours were searched [m].
    pub origins: &'a [DVec3],
    pub movers: &'a [Mover],
    pub damp: &'a [Damp],
    pub vigil: &'a [Vigil],
    pub offsets: &'a [u32],
    pub solids: &'a [Solid<'a>],
    pub bodies: &'a [BodyState],
    pub carriers: &'a [Carrier],
    /// Step [s], substep [s], and the part of it that is over.
    pub h: f64,
    pub dt: f64,
    pub done: f64,
    /// Whether contacts of sleeping grains must be looked at too.
    pub afresh: bool,
}

/// What the pass writes: the part of grains from `first`.
pub(crate) struct Part<'a> {
    pub first: usize,
    pub loads: &'a mut [Load],
    pub stirred: &'a mut [bool],
    pub links: &'a mut [Link],
    pub reactions: &'a mut [Reaction],
    pub touches: &'a mut [Touch],
    pub presses: &'a mut [Press],
    /// How far grains are from the faces of touches while they are at their origins, at least [m].
    pub clear: &'a [f64],
}

/// Forces of all contacts of these grains.
pub(crate) fn contacts(context: &Context, part: Part) {
    if part.loads.len() <= LEAF {
        return match &context.wet {
            Some(wet) => leaf::<true>(context, Some(wet), part),
            None => leaf::<false>(context, None, part),
        };
    }
    let half = part.loads.len() / 2;
    let middle = part.first + half;
    let cut = (context.offsets[middle] - context.offsets[part.first]) as usize;
    let near = part.touches.partition_point(|touch| (touch.grain as usize) < middle);
    let (loads, right_loads) = part.loads.split_at_mut(half);
    let (stirred, right_stirred) = part.stirred.split_at_mut(half);
    let (links, right_links) = part.links.split_at_mut(cut);
    let (reactions, right_reactions) = part.reactions.split_at_mut(cut);
    let (touches, right_touches) = part.touches.split_at_mut(near);
    let (presses, right_presses) = part.presses.split_at_mut(near);
    let (clear, right_clear) = part.clear.split_at(near);
    let left = Part { first: part.first, loads, stirred, links, reactions, touches, presses, clear };
    let right = Part {
        first: middle,
        loads: right_loads,
        stirred: right_stirred,
        links: right_links,
        reactions: right_reactions,
        touches: right_touches,
        presses: right_presses,
        clear: right_clear,
    };
    rayon::join(|| contacts(context, left), || contacts(context, right));
}

fn leaf<const WET: bool>(context: &Context, wet: Option<&WetLaw>, part: Part) {
    let base = context.offsets[part.first] as usize;
    let mut at = 0;
    for (k, load) in part.loads.iter_mut().enumerate() {
        let grain = part.first + k;
        let own = context.offsets[grain] as usize - base..context.offsets[grain + 1] as usize - base;
        let from = at;
        while at < part.touches.len() && part.touches[at].grain as usize == grain {
            at += 1;
        }
        let (links, touches) = (&mut part.links[own.clone()], &mut part.touches[from..at]);
        if context.vigil[grain] == Vigil::Asleep {
            let disturbed = links.iter().any(|link| context.vigil[link.partner as usize] > Vigil::Asleep)
                || touches.iter().any(|touch| context.solids[touch.solid as usize].moves());
            part.stirred[k] = disturbed;
            if !(disturbed || context.afresh) {
                continue;
            }
        }
        *load = Load::default();
        let x = context.positions[grain];
        let a = &context.movers[grain];
        let rests = context.vigil[grain] < Vigil::Awake;
        for (link, reaction) in links.iter_mut().zip(&mut part.reactions[own]) {
            let partner = link.partner as usize;
            let b = &context.movers[partner];
            let apart = context.positions[partner] - x;
            let square = apart.length_squared();
            let reach = f64::from(a.radius() + b.radius());
            let touching = square < reach * reach;
            if !(touching || WET && link.bridge > 0.0) {
                // Most pairs are only near: do not write what is there already.
                if reaction.active > 0.0 {
                    *reaction = Reaction::default();
                }
                if link.memory() != Memory::default() {
                    link.remember(Memory::default());
                }
                continue;
            }
            let frozen = rests && context.vigil[partner] < Vigil::Awake;
            let h = if frozen { 0.0 } else { context.h as f32 };
            let distance = square.sqrt();
            let normal = if distance > 0.0 { (apart / distance).as_vec3a() } else { Vec3A::Y };
            let share = a.radius() / (a.radius() + b.radius());
            let (lever, other_lever) = (distance as f32 * share, distance as f32 * (1.0 - share));
            let mut meeting = Meeting {
                normal,
                overlap: (reach - distance) as f32,
                velocity: a.velocity() - b.velocity() + (a.spin() * lever + b.spin() * other_lever).cross(normal),
                spin: a.spin() - b.spin(),
                mass: a.mass() * b.mass() / (a.mass() + b.mass()),
                radius: b.radius() * share,
                friction: context.law.friction,
                rolling: context.law.rolling,
                viscous: 1.0,
            };
            let mut pull = 0.0;
            if WET && let Some(law) = wet {
                let (p, q) = (context.damp[grain], context.damp[partner]);
                pull = moisten(law, &mut meeting, &mut link.bridge, p, q);
            }
            let mut total = Answer::default();
            let mut damper = 0.0;
            if touching {
                if WET {
                    let part = context.damp[grain].yielding.min(context.damp[partner].yielding);
                    damper = context.law.give_way(&mut meeting, part, h);
                    load.dampers.add(damper);
                }
                let mut memory = link.memory();
                total = answer(&context.law, &meeting, &mut memory, h);
                link.remember(memory);
            } else {
                link.remember(Memory::default());
            }
            total.force += normal * pull;
            let moment = normal.cross(total.force);
            load.force += total.force.as_dvec3();
            load.torque += (moment * lever + total.couple).as_dvec3();
            *reaction = Reaction::new(-total.force, moment * other_lever - total.couple, damper);
        }
        let wandered = if touches.is_empty() { 0.0 } else { (x - context.origins[grain]).length_squared().sqrt() };
        let mut first = from;
        for group in touches.chunk_by_mut(|a, b| a.solid == b.solid) {
            let presses = &mut part.presses[first..first + group.len()];
            // No face is nearer than the first.
            let clear = part.clear[first] - wandered > f64::from(a.radius());
            first += group.len();
            if clear && !(WET && group.iter().any(|touch| touch.bridge > 0.0)) {
                group.iter_mut().for_each(Touch::forget);
                presses.fill(Press::default());
                continue;
            }
            press_all::<WET>(context, wet, group, presses, rests);
            for press in presses {
                load.force += press.force;
                load.torque += press.couple;
                if WET {
                    load.dampers.add(press.damper);
                }
            }
        }
    }
}

/// Wetness of two surfaces: damping grows, friction grows and then falls, and a bridge pulls. The bridge forms when they touch.
#[inline]
fn moisten(law: &WetLaw, meeting: &mut Meeting, bridge: &mut f32, a: Damp, b: Damp) -> f32 {
    let wetness = 0.5 * (a.wetness + b.wetness);
    if wetness <= 0.0 {
        *bridge = 0.0;
        return 0.0;
    }
    let wet = law.at(wetness);
    meeting.viscous = wet.viscous;
    meeting.friction *= wet.friction;
    meeting.rolling *= wet.rolling;
    let parting = -meeting.velocity.dot(meeting.normal);
    // Derjaguin's radius is twice the reduced one.
    match law.bridge(&wet, 2.0 * meeting.radius, a.share + b.share, (-meeting.overlap).max(0.0), parting, meeting.mass)
    {
        Some(pull) => {
            *bridge = 1.0;
            pull
        }
        None => {
            *bridge = 0.0;
            0.0
        }
    }
}

/// A grain on the faces of one solid.
fn press_all<const WET: bool>(
    context: &Context,
    wet: Option<&WetLaw>,
    touches: &mut [Touch],
    presses: &mut [Press],
    rests: bool,
) {
    let grain = touches[0].grain as usize;
    let solid = &context.solids[touches[0].solid as usize];
    let (x, radius) = (context.positions[grain], f64::from(context.movers[grain].radius()));
    // Bridges reach farther than the radius, by less than that.
    let bridged = WET && touches.iter().any(|touch| touch.bridge > 0.0);
    let ball = Ball { centre: x, radius, reach: if bridged { 2.0 * radius } else { radius } };
    let carrier = solid.body.map(|body| &context.carriers[body]);
    let (near, count) = faces(solid, carrier, ball, touches.len(), context.done);
    let mut before = [0.0; FACES];
    for (before, touch) in before.iter_mut().zip(&*touches) {
        *before = touch.strain;
    }
    for (number, (touch, press)) in touches.iter_mut().zip(presses).enumerate() {
        let reached = |near: &&Face| near.distance < radius || (WET && touch.bridge > 0.0);
        match near[..count].get(number).filter(reached) {
            Some(near) => *press = press_on::<WET>(context, wet, touch, near, &mut before, rests),
            None => {
                touch.forget();
                touch.bridge = 0.0;
                *press = Press::default();
            }
        }
    }
}

/// How far the spring of a face is strained: by `most`, but by no more than a spring was `before` and the grain has closed in since, give or take `slack` [m].
///
/// Further faces come into view with overlap, fade, and change places with the nearest. So bounded, springs give back no more than they were given.
fn strained(most: f64, closing: f64, slack: f64, before: &mut [f64; FACES]) -> f64 {
    // Faces are numbered anew in every step: its own is the one that would have led here. It is used once.
    let off = |strain: f64| (strain + closing - most).abs();
    let own = before.iter_mut().min_by(|a, b| off(**a).total_cmp(&off(**b)));
    let own = own.map_or(0.0, |own| std::mem::replace(own, f64::NEG_INFINITY).max(0.0));
    most.min(own + closing + slack).max(0.0)
}

/// A grain on a face: force and torque on the grain, and the point where they meet.
fn press_on<const WET: bool>(
    context: &Context,
    wet: Option<&WetLaw>,
    touch: &mut Touch,
    near: &Face,
    before: &mut [f64; FACES],
    rests: bool,
) -> Press {
    let grain = touch.grain as usize;
    let solid = &context.solids[touch.solid as usize];
    let body = solid.body.map(|body| (&context.bodies[body], &context.carriers[body]));
    let (x, a) = (context.positions[grain], &context.movers[grain]);
    let radius = f64::from(a.radius());
    // From the grain into the solid, as from a to b.
    let normal = (-near.normal).as_vec3a();
    let lever = near.distance.clamp(0.0, radius);
    let point = x - near.normal * lever;
    let (surface, spin, mass) = match body {
        Some((body, carrier)) => {
            let answering = body.inverse_mass_at(carrier.seen(point), near.normal);
            let mass = 1.0 / (1.0 / f64::from(a.mass()) + answering);
            (carrier.velocity_at(body, point), body.spin.as_vec3a(), mass as f32)
        }
        None => (solid.collider.carried(x) / context.dt, Vec3A::ZERO, a.mass()),
    };
    // Grains begin outside of solids; what one that moves has run over is pushed no harder, however deep it is, than by an overlap of its radius.
    let deep = (radius - near.distance).min(radius);
    let mut meeting = Meeting {
        normal,
        overlap: deep as f32,
        velocity: a.velocity() - surface.as_vec3a() + (a.spin() * lever as f32).cross(normal),
        spin: a.spin() - spin,
        mass,
        radius: a.radius(),
        friction: solid.collider.friction() as f32,
        rolling: context.law.rolling,
        viscous: 1.0,
    };
    let h = if rests && !solid.moves() { 0.0 } else { context.h as f32 };
    if near.distance < radius {
        let (most, step) = (near.share * deep, near.share * f64::from(h));
        let closing = f64::from(meeting.velocity.dot(normal)) * step;
        let slack = (SLACK * f64::from(a.velocity().length()) + LOOSE * surface.length()) * step;
        let strain = strained(most, closing, slack, before);
        // The nearest face is always seen, and where it is.
        touch.strain = if touch.face == 0 { most } else { strain };
        // The gradient of k/2 strain^2.
        meeting.overlap = (near.share * touch.strain) as f32;
    }
    let mut pull = 0.0;
    if WET && let Some(law) = wet {
        // The solid is as wet as the grain makes it, and gives no water.
        let damp = context.damp[grain];
        let skin = Damp { share: 0.0, ..damp };
        pull = moisten(law, &mut meeting, &mut touch.bridge, damp, skin);
    }
    meeting.viscous *= (near.share * near.share) as f32;
    let mut total = Answer::default();
    let mut damper = 0.0;
    if near.distance < radius {
        if WET {
            damper = context.law.give_way(&mut meeting, context.damp[grain].yielding, h);
        }
        let mut memory = touch.memory();
        total = answer(&context.law, &meeting, &mut memory, h);
        touch.remember(memory);
    } else {
        touch.forget();
    }
    total.force += normal * pull;
    let moment = normal.cross(total.force) * lever as f32 + total.couple;
    Press { force: total.force.as_dvec3(), couple: moment.as_dvec3(), roll: total.couple.as_dvec3(), point, damper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn springs_give_back_no_more_than_they_were_given() {
        // One that is there is strained as far as it overlaps.
        assert_eq!(strained(0.3, 0.1, 1e-3, &mut [0.5, 0.2, 0.0]), 0.3);
        // One that comes into view with overlap begins with what the grain closed in by.
        let mut before = [0.5, 0.0, 0.0];
        assert_eq!(strained(0.6, 0.1, 0.0, &mut before), 0.6);
        assert_eq!(strained(0.4, 0.1, 0.0, &mut before), 0.1);
        assert_eq!(strained(0.4, -0.1, 0.0, &mut before), 0.0);
        // Two that change places keep what they have.
        let mut before = [0.40, 0.32, 0.0];
        assert_eq!(strained(0.36, 0.04, 1e-9, &mut before), 0.36);
        assert_eq!(strained(0.35, -0.05, 1e-9, &mut before), 0.35);
    }
}
