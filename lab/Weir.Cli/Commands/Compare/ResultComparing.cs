namespace Weir.Cli.Commands.Compare;

/// <summary>Compares two results that were measured one after the other. If they are not comparable, it names the option that allows the comparison.</summary>
internal static class ResultComparing
{
    /// <summary>Compares.</summary>
    /// <param name="before">The one that is compared with.</param>
    /// <param name="after">The one that is compared.</param>
    /// <param name="options">Margin and level.</param>
    /// <param name="across">The settings that may differ between the two.</param>
    /// <param name="arguments">The arguments that repeat the comparison.</param>
    public static ResultFile Compare(
        (string Name, ResultFile Result) before, (string Name, ResultFile Result) after, ComparisonOptions options, IReadOnlyList<string> across,
        IReadOnlyList<string> arguments)
    {
        try
        {
            return ResultComparison.Of(before, after, options, across) with { Arguments = arguments };
        }
        catch (IncomparableResultsException e)
        {
            throw new BadInputException(e.Settings.Count == 0
                ? e.Message
                : $"{e.Message.TrimEnd('.')}: add --across {string.Join(',', e.Settings)} if that is what you want to compare.");
        }
    }
}
