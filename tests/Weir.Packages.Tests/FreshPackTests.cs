using System.Diagnostics;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>The first command of the README, in a tree where nothing has been built.</summary>
public class FreshPackTests(Feed feed)
{
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(60);

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Pack_OfOnePackage_TakesAtMostAMinute()
    {
        Assert.SkipUnless(Feed.IsAll, "eng/outside runs it, on a machine that does nothing else.");
        string tree = feed.NewFolder("tree", alone: false);
        File.Delete(Path.Combine(tree, "nuget.config"));
        Dictionary<string, string> settings = feed.Settings;

        // What others made is on a developer's machine already.
        settings.Remove("NUGET_PACKAGES");
        await Program.RunAsync(Repository.Root, settings, "bash", ["-c", $"git archive HEAD | tar -x -C '{tree}'"]);
        long start = Stopwatch.GetTimestamp();
        string packed = await Program.RunAsync(tree, settings, "bash", ["eng/pack", "Weir"]);
        TimeSpan took = Stopwatch.GetElapsedTime(start);
        Assert.Equal(
            ["Weir", "Weir.Core", "Weir.Resilience"],
            packed.Split('\n').Where(static f => f.EndsWith(".nupkg", StringComparison.Ordinal))
                .Select(static f => f.Replace($".{Feed.Version}.nupkg", "", StringComparison.Ordinal)));
        Assert.InRange(took, TimeSpan.Zero, Longest);
    }
}
