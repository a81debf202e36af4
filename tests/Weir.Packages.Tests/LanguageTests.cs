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

    [Theory(Timeout = 300_000)]
    [InlineData("", "", true)]
    [InlineData("", "WEIR100", false)]
    [InlineData("13", "", false)]
    public async Task Build_OfAProjectForNet8_NamesTheLineToAdd(string version, string silenced, bool isTold)
    {
        // What such a project has by itself is C# 12. Whoever refers to the library is told too: the program here has the package through it only.
        string folder = feed.NewFolder($"language-build-{version}-{silenced}", alone: false);
        WriteProject("Library", version, silenced, $"""<PackageReference Include="Weir" Version="{Feed.Version}" />""");
        WriteProject("Program", version, silenced, """<ProjectReference Include="../Library/Library.csproj" />""");
        string output = await feed.DotNetAsync(Path.Combine(folder, "Program"), "build");
        string[] projects = ["Library.csproj", "Program.csproj"];
        Assert.All(projects, project => Assert.Equal(isTold, output.Split('\n').Any(line =>
            line.Contains(project, StringComparison.Ordinal)
            && line.Contains("warning WEIR100: ", StringComparison.Ordinal)
            && line.Contains("add <LangVersion>13</LangVersion> to the project file", StringComparison.Ordinal))));

        void WriteProject(string name, string language, string noWarn, string reference)
        {
            string project = Directory.CreateDirectory(Path.Combine(folder, name)).FullName;
            File.WriteAllText(Path.Combine(project, name + ".csproj"), $"""
                <Project Sdk="Microsoft.NET.Sdk">
                  <PropertyGroup>
                    <TargetFramework>net8.0</TargetFramework>
                    <LangVersion>{language}</LangVersion>
                    <NoWarn>$(NoWarn);{noWarn}</NoWarn>
                  </PropertyGroup>
                  <ItemGroup>{reference}</ItemGroup>
                </Project>
                """);
            File.WriteAllText(Path.Combine(project, name + ".cs"), $"public static class Of{name}\n{{\n}}\n");
        }
    }
}
