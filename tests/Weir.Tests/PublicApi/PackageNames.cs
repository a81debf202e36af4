using Weir.TestKit;

namespace Weir.Tests.PublicApi;

/// <summary>The packages whose API is reviewed and has pages: each project under src, so that none is forgotten.</summary>
/// <remarks>This project references all of them.</remarks>
internal static class PackageNames
{
    /// <summary>What a reader looks for first.</summary>
    private static readonly string[] First = ["Weir", "Weir.Core", "Weir.Resilience", "Weir.RateLimiting", "Weir.Http", "Weir.Polly", "Weir.Dataflow"];

    /// <summary>An analyzer is used by the compiler, and has no API.</summary>
    private const string Analyzers = "Weir.Analyzers";

    public static string[] All { get; } =
    [
        .. First,
        .. Directory.EnumerateDirectories(Path.Combine(Repository.Root, "src"))
            .Select(static d => Path.GetFileName(d))
            .Where(static d => d != Analyzers && File.Exists(Path.Combine(Repository.Root, "src", d, d + ".csproj")))
            .Except(First)
            .Order(StringComparer.Ordinal),
    ];
}
