namespace Weir.Cli.Commands.Load;

/// <summary>Which size of a sweep to start with.</summary>
internal static class SweepAdvice
{
    /// <summary>What a smaller size may be behind the fastest: a difference that nobody notices is not worth more items in flight.</summary>
    private const double Enough = 0.95;

    /// <summary>A sentence for each kind of runtime that was measured with several sizes: the smallest of them that is about as fast as the fastest.</summary>
    public static IEnumerable<string> Of(IEnumerable<(RuntimeChoice Choice, double Rate)> sizes)
    {
        foreach (IGrouping<string, (RuntimeChoice Choice, double Rate)> kind in sizes.Where(static s => s.Choice.IsSwept).GroupBy(static s => s.Choice.Word))
        {
            if (kind.Count() > 1)
            {
                (RuntimeChoice fastest, double most) = kind.MaxBy(static s => s.Rate);
                (RuntimeChoice first, double rate) = kind.Where(s => s.Rate >= most * Enough).MinBy(static s => s.Choice.Size);
                string why = first != fastest
                    ? $"with {Numbers.Scaled(rate)} items/s the smallest within {(1 - Enough) * 100:0} % of the fastest, "
                        + $"{fastest.Name} with {Numbers.Scaled(most)}"
                    : $"the fastest of these sizes, with {Numbers.Scaled(most)} items/s{(fastest == Largest(kind) ? "; larger ones may be faster still" : "")}";
                yield return $"Start with {first.Name}: {why}.";
            }
        }
    }

    private static RuntimeChoice Largest(IEnumerable<(RuntimeChoice Choice, double Rate)> sizes) => sizes.MaxBy(static s => s.Choice.Size).Choice;
}
