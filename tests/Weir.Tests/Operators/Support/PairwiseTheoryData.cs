namespace Weir.Tests.Operators.Support;

/// <summary>
/// Cases in which any two values stand together once at least, in place of all combinations: the random plans of <c>PlanProperties</c> draw from those.
/// </summary>
public sealed class PairwiseTheoryData<T1, T2, T3> : TheoryData<T1, T2, T3>
{
    public PairwiseTheoryData(IEnumerable<T1> first, IEnumerable<T2> second, IEnumerable<T3> third)
    {
        (T1[] a, T2[] b, T3[] c) = ([.. first], [.. second], [.. third]);
        foreach (int[] row in Pairs.Rows(a.Length, b.Length, c.Length))
        {
            Add(a[row[0]], b[row[1]], c[row[2]]);
        }
    }
}
