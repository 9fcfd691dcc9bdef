//! The 15 sums of Winograd's variant of Strassen's product, element by element.
//!
//! ```text
//! S₁ = A₂₁ + A₂₂    T₁ = B₁₂ − B₁₁
//! S₂ = S₁ − A₁₁     T₂ = B₂₂ − T₁
//! S₃ = A₁₁ − A₂₁    T₃ = B₂₂ − B₁₂
//! S₄ = A₁₂ − S₂     T₄ = T₂ − B₂₁
//!
//! C₁₁ = A₁₁·B₁₁ + A₁₂·B₂₁
//! C₁₂ = A₁₁·B₁₁ + S₂·T₂ + S₁·T₁ + S₄·B₂₂
//! C₂₁ = A₁₁·B₁₁ + S₂·T₂ + S₃·T₃ − A₂₂·T₄
//! C₂₂ = A₁₁·B₁₁ + S₂·T₂ + S₃·T₃ + S₁·T₁
//! ```
//!
//! All functions work in place, so that each element is read once and written once. Each slice is a
//! parameter of its own. This tells the compiler that the slices do not overlap, which it must know
//! to use vector instructions.

/// Replaces the quadrants of a left factor, in row-major order, by *S₁* to *S₄*.
#[inline(never)]
pub fn left(a11: &mut [f64], a12: &mut [f64], a21: &mut [f64], a22: &mut [f64]) {
    let rows = a11.iter_mut().zip(a12).zip(a21.iter_mut().zip(a22));
    for ((a11, a12), (a21, a22)) in rows {
        let s1 = *a21 + *a22;
        let s2 = s1 - *a11;
        let s3 = *a11 - *a21;
        let s4 = *a12 - s2;
        (*a11, *a12, *a21, *a22) = (s1, s2, s3, s4);
    }
}

/// Replaces the quadrants of a right factor, in row-major order, by *T₁* to *T₄*.
#[inline(never)]
pub fn right(b11: &mut [f64], b12: &mut [f64], b21: &mut [f64], b22: &mut [f64]) {
    let rows = b11.iter_mut().zip(b12).zip(b21.iter_mut().zip(b22));
    for ((b11, b12), (b21, b22)) in rows {
        let t1 = *b12 - *b11;
        let t2 = *b22 - t1;
        let t3 = *b22 - *b12;
        let t4 = t2 - *b21;
        (*b11, *b12, *b21, *b22) = (t1, t2, t3, t4);
    }
}

/// Replaces the first four of the seven products by the quadrants of the whole product, in
/// row-major order.
#[inline(never)]
pub fn whole(
    a11_b11: &mut [f64],
    s1_t1: &mut [f64],
    s2_t2: &mut [f64],
    s3_t3: &mut [f64],
    a12_b21: &[f64],
    s4_b22: &[f64],
    a22_t4: &[f64],
) {
    let first = a11_b11
        .iter_mut()
        .zip(s1_t1)
        .zip(s2_t2.iter_mut().zip(s3_t3));
    let last = a12_b21.iter().zip(s4_b22).zip(a22_t4);
    for (((p, q), (r, s)), ((a12_b21, s4_b22), a22_t4)) in first.zip(last) {
        let (a11_b11, s1_t1) = (*p, *q);
        let common = a11_b11 + *r;
        let lower = common + *s;
        *p = a11_b11 + a12_b21;
        *q = common + s1_t1 + s4_b22;
        *r = lower - a22_t4;
        *s = lower + s1_t1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_products_add_up_to_the_whole_product() {
        let (a, b) = ([[2.0, 3.0], [5.0, 7.0]], [[11.0, 13.0], [17.0, 19.0]]);
        let [mut s1, mut s2, mut s3, mut s4] = [a[0][0], a[0][1], a[1][0], a[1][1]].map(|n| [n]);
        left(&mut s1, &mut s2, &mut s3, &mut s4);
        let [mut t1, mut t2, mut t3, mut t4] = [b[0][0], b[0][1], b[1][0], b[1][1]].map(|n| [n]);
        right(&mut t1, &mut t2, &mut t3, &mut t4);

        let mut c11 = [a[0][0] * b[0][0]];
        let mut c12 = [s1[0] * t1[0]];
        let mut c21 = [s2[0] * t2[0]];
        let mut c22 = [s3[0] * t3[0]];
        whole(
            &mut c11,
            &mut c12,
            &mut c21,
            &mut c22,
            &[a[0][1] * b[1][0]],
            &[s4[0] * b[1][1]],
            &[a[1][1] * t4[0]],
        );
        assert_eq!([c11, c12], [[73.0], [83.0]]);
        assert_eq!([c21, c22], [[174.0], [198.0]]);
    }
}
