using System.Runtime.InteropServices;
using Weir.Packages.Tests.Support;

namespace Weir.Packages.Tests;

/// <summary>
/// A program that is published with its runtime and without what it does not need. The libraries stay whole, so that all of them is analysed.
/// </summary>
public class TrimmedTests(Feed feed)
{
    private const string Project = """
        <Project Sdk="Microsoft.NET.Sdk">
          <PropertyGroup>
            <OutputType>Exe</OutputType>
            <TargetFramework>net10.0</TargetFramework>
            <ImplicitUsings>enable</ImplicitUsings>
            <Nullable>enable</Nullable>
            <PublishTrimmed>true</PublishTrimmed>
            <SelfContained>true</SelfContained>
            <TrimmerSingleWarn>false</TrimmerSingleWarn>
            <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
          </PropertyGroup>
          <ItemGroup>
            <PackageReference Include="Weir" Version="VERSION" />
            <PackageReference Include="Weir.Dataflow" Version="VERSION" />
            <PackageReference Include="Weir.Http" Version="VERSION" />
            <PackageReference Include="Weir.Delivery" Version="VERSION" />
            <TrimmerRootAssembly Include="Weir.Core;Weir.Resilience;Weir;Weir.Dataflow;Weir.Http;Weir.Delivery" />
          </ItemGroup>
        </Project>
        """;

    [Fact(Timeout = 900_000, Explicit = true)]
    public async Task Trimmed_SelfContained_PublishesWithoutWarning_AndPrints()
    {
        string folder = feed.NewFolder("trimmed", alone: false);
        File.WriteAllText(Path.Combine(folder, "Trimmed.csproj"), Project.Replace("VERSION", Feed.Version, StringComparison.Ordinal));
        File.WriteAllText(Path.Combine(folder, "Program.cs"), Readme.First);
        await feed.DotNetAsync(folder, "publish", "-r", RuntimeInformation.RuntimeIdentifier, "-o", "out");
        string program = Path.Combine(folder, "out", OperatingSystem.IsWindows() ? "Trimmed.exe" : "Trimmed");
        Assert.Equal(Readme.Output, (await Program.RunAsync(folder, feed.Settings, program, [])).Trim());
    }
}
