namespace Weir.Tables.SelfChecks;

/// <summary>Two comparisons: one of the same work, and one with work that is a tenth longer.</summary>
/// <param name="Name">What the names of its results begin with.</param>
/// <param name="Same">The arguments of <c>weir compare</c> for the one.</param>
/// <param name="Slower">The arguments for the other.</param>
internal sealed record VerdictPair(string Name, IReadOnlyList<string> Same, IReadOnlyList<string> Slower)
{
    /// <summary>The command as it is shown: without the folders of assemblies.</summary>
    public static string Text(IEnumerable<string> arguments) =>
        "weir compare " + string.Join(' ', arguments.Select(static a => Path.IsPathRooted(a) ? Path.GetFileName(a) : a));
}
