using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>Where the compiler of machine code is looked for.</summary>
public class AheadTests(Feed feed)
{
    [Theory(Timeout = 900_000)]
    [InlineData("/cache")]
    [InlineData("/cache/")]
    public async Task Compiler_IsInThePackageCache_HoweverItIsWritten(string cache)
    {
        string project = Path.Combine(Repository.Root, "eng", "package", "ahead", "Fetch.proj");
        string compiler = await feed.DotNetAsync(
            Repository.Root, "msbuild", project, "-t:FindAhead", $"-p:NuGetPackageRoot={cache}", "-getProperty:AheadCompiler");
        Assert.StartsWith("/cache/microsoft.netcore.app.crossgen2.", compiler.Trim(), StringComparison.Ordinal);
    }
}
