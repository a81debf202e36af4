using System.Text.RegularExpressions;

namespace Weir.Cli.Commands.Compare;

/// <summary>The target frameworks of a project, by their short names.</summary>
internal static partial class TargetFrameworks
{
    private static readonly string[] Families = ["net", "netcoreapp", "netstandard"];

    /// <summary>The one that is nearest to a runtime of those that run on it; <see langword="null"/> when none does.</summary>
    /// <param name="names">The names, such as <c>net8.0</c>. Those with a system, such as <c>net10.0-android</c>, are for that one alone.</param>
    /// <param name="runtime">The major version of the runtime.</param>
    public static string? Highest(IEnumerable<string> names, int runtime) => names
        .Select(static n => (Name: n, Match: Form().Match(n)))
        .Where(n => n.Match.Success && IsForThisSystem(n.Match.Groups["system"].Value))
        .Select(static n => (
            n.Name,
            Family: Array.IndexOf(Families, n.Match.Groups["family"].Value),
            Version: Version.Parse(n.Match.Groups["version"].Value),
            HasSystem: n.Match.Groups["system"].Length > 0))
        .Where(n => n.Family > 0 || (n.Version.Major >= 5 && n.Version.Major <= runtime))
        .OrderBy(static n => n.Family)
        .ThenByDescending(static n => n.Version)
        .ThenBy(static n => n.HasSystem)
        .Select(static n => n.Name)
        .FirstOrDefault();

    private static bool IsForThisSystem(string system) => system.Length == 0 || OperatingSystem.IsOSPlatform(system);

    [GeneratedRegex(@"^(?<family>net|netcoreapp|netstandard)(?<version>\d+\.\d+)(-(?<system>[a-z]+)[\d.]*)?$", RegexOptions.IgnoreCase)]
    private static partial Regex Form();
}
