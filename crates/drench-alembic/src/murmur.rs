//! MurmurHash3, 128 bits, the variant for 64-bit machines, seed 0 [Appleby 2011]: the digest of every sample.

/// Sixteen bytes that stand for a sample.
pub type Digest = [u8; 16];

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The digest of `bytes`.
pub fn digest(bytes: &[u8]) -> Digest {
    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut a, mut b) = (0_u64, 0_u64);
    for block in blocks {
        let (low, high) = halves(block);
        a = (a ^ mix_low(low)).rotate_left(27).wrapping_add(b).wrapping_mul(5).wrapping_add(0x52dc_e729);
        b = (b ^ mix_high(high)).rotate_left(31).wrapping_add(a).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // Zeroes mix to zero, so a padded tail is the tail.
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (low, high) = halves(&last);
    a ^= mix_low(low);
    b ^= mix_high(high);

    let length = bytes.len() as u64;
    (a, b) = (a ^ length, b ^ length);
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    (a, b) = (avalanche(a), avalanche(b));
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    let mut out = [0; 16];
    out[..8].copy_from_slice(&a.to_le_bytes());
    out[8..].copy_from_slice(&b.to_le_bytes());
    out
}

fn halves(block: &[u8; 16]) -> (u64, u64) {
    let word = u128::from_le_bytes(*block);
    (word as u64, (word >> 64) as u64)
}

fn mix_low(word: u64) -> u64 {
    word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_high(word: u64) -> u64 {
    word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn avalanche(mut word: u64) -> u64 {
    word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_that_the_alembic_library_writes() {
        // Read from a file that Alembic 1.8.12 wrote: true, the matrix operation 0x30, "drench", and [2, 3] as int32.
        assert_eq!(hex(&[1]), "16fe7483905cce7a85670e43e4678877");
        assert_eq!(hex(&[0x30]), "80a346d5bedec92a095e873ce5e98d3a");
        assert_eq!(hex(b"drench\0"), "60813cea37949016dd424460b4182105");
        assert_eq!(hex(&[2, 0, 0, 0, 3, 0, 0, 0]), "81dfcab7928f7db3ac5a346102089d29");
        // Five floats of 0.3: a block and a tail.
        let floats: Vec<u8> = [0.3_f32; 5].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(hex(&floats), "3dbf8cba612396c32d77191e4a1ef3e0");
        assert_eq!(hex(&[]), "00000000000000000000000000000000");
    }
}
