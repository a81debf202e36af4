using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>Is a project told which line to add if its version of C# is too low, and no other project?</summary>
public class LanguageTests(Feed feed)
{
    [Theory(Timeout = 120_000)]
    [InlineData("12.0", true)]
    [InlineData("12", true)]
    [InlineData("7.3", true)]
    [InlineData("13", false)]
    [InlineData("14.0", false)]
    [InlineData("latest", false)]
    [InlineData("preview", false)]
    [InlineData("", false)]
    public async Task Target_OfThePackage_NamesTheLineToAdd(string version, bool isTold)
    {
        string folder = feed.NewFolder("language-" + version, alone: false);
        string targets = Path.Combine(Repository.Root, "src", "Weir", "buildTransitive", "Weir.targets");
        File.WriteAllText(Path.Combine(folder, "Old.proj"), $"""
            <Project>
              <PropertyGroup><Language>C#</Language><LangVersion>{version}</LangVersion></PropertyGroup>
              <Import Project="{targets}" />
            </Project>
            """);
        string output = await feed.DotNetAsync(folder, "msbuild", "-t:WeirLanguageVersion");
        Assert.Equal(isTold, output.Contains("add <LangVersion>13</LangVersion> to the project file", StringComparison.Ordinal));
        Assert.Equal(isTold, output.Contains("WEIR100", StringComparison.Ordinal));
    }
}
