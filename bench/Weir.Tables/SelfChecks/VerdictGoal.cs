namespace Weir.Tables.SelfChecks;

/// <summary>What a check of verdicts compares, and what should come out.</summary>
/// <param name="Name">The name of the check.</param>
/// <param name="Pairs">What is compared.</param>
/// <param name="Neighbours">How many threads of another process keep processors busy.</param>
/// <param name="LeastEquivalent">Of the comparisons of the same work, the share that must be EQUIVALENT at least.</param>
/// <param name="LeastFound">Of the comparisons with work that is a tenth longer, the share that must be SLOWER at least.</param>
/// <param name="MostSeconds">How long a comparison may take.</param>
internal sealed record VerdictGoal(
    string Name, IReadOnlyList<VerdictPair> Pairs, int Neighbours, double LeastEquivalent, double LeastFound, double MostSeconds)
{
    private static readonly string[] Methods =
        [nameof(PairedMethods.Hash), nameof(PairedMethods.Compute), nameof(PairedMethods.Wait), nameof(PairedMethods.Allocate)];

    /// <summary>A workload of the lab, with half of the processors busy.</summary>
    public static VerdictGoal Lab { get; } = new(
        "", [new VerdictPair("", ["compare", "cpu:grain=10us", "cpu:grain=10us"], ["compare", "cpu:grain=10us", "cpu:grain=11us"])],
        Math.Max(1, Environment.ProcessorCount / 2), 0.75, 0.95, 40);

    /// <summary>Methods of a user, on a machine that does nothing else.</summary>
    public static VerdictGoal Users { get; } = new("methods-", [.. Methods.Select(static m => Of(m))], 0, 0.75, 0.95, 36);

    /// <summary>Methods of a user, beside four busy neighbours.</summary>
    public static VerdictGoal Neighboured { get; } = new(
        "neighboured-", [.. Methods.Select(static m => Of(m, "--within", "60s"))], SelfChecks.Neighbours.Usual, 0.25, 0.5, 72);

    private static VerdictPair Of(string method, params string[] more) =>
        new($"{method}-", ["compare", .. WeirCommand.Twice(method), .. more], ["compare", .. WeirCommand.Both(method, method + "Longer"), .. more]);
}
