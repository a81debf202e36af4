using System.Text.RegularExpressions;
using Weir.TestKit;

namespace Weir.Lab.Benchmarks.Tests;

/// <summary>Benchmarks of somebody else, with all that a project can bring along, in processes of their own: what BenchmarkDotNet runs, the lab runs too.</summary>
public class UserProjectTests
{
    [Fact(Timeout = 300_000)]
    public async Task Run_LibraryWithAFrameworkANativeLibraryAndContent_HasThemInItsProcess()
    {
        // The library knows nothing of the lab, and is for two frameworks.
        using UserProject project = new(
            "Bench",
            $"""
            <PropertyGroup>
              <TargetFrameworks>net8.0;net10.0</TargetFrameworks>
              <ImplicitUsings>enable</ImplicitUsings>
            </PropertyGroup>
            <ItemGroup>
              <FrameworkReference Include="Microsoft.AspNetCore.App" Condition="'$(TargetFramework)' == 'net10.0'" />
              <None Update="content.txt" CopyToOutputDirectory="PreserveNewest" />
              {UserProject.Package("Microsoft.Data.Sqlite")}
              {UserProject.Package("BenchmarkDotNet")}
            </ItemGroup>
            """,
            ("content.txt", "four"),
            ("Bench.cs", """
            using BenchmarkDotNet.Attributes;
            using Microsoft.Data.Sqlite;

            public class Bench
            {
                [Benchmark]
                public int Framework() => new Microsoft.AspNetCore.Http.DefaultHttpContext().Response.StatusCode;

                [Benchmark]
                public object Native()
                {
                    using SqliteConnection connection = new("Data Source=:memory:");
                    connection.Open();
                    using SqliteCommand command = connection.CreateCommand();
                    command.CommandText = "select 4";
                    return command.ExecuteScalar();
                }

                [Benchmark]
                public string Content() => File.ReadAllText(Path.Combine(AppContext.BaseDirectory, "content.txt"));
            }
            """),
            ("../Run/Run.csproj", $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <OutputType>Exe</OutputType>
                <TargetFramework>net10.0</TargetFramework>
              </PropertyGroup>
              <ItemGroup>
                <ProjectReference Include="../Bench/Bench.csproj" />
                {UserProject.Assembly(typeof(LabBenchmarks))}
                {UserProject.Assembly(typeof(Latency.LatencySummary))}
              </ItemGroup>
            </Project>
            """),
            ("../Run/Program.cs", "Weir.Lab.Benchmarks.LabBenchmarks.Run(typeof(Bench).Assembly, args);"));
        (int built, string build) = await project.DotNetAsync("build", "../Run", "-c", "Release");
        Assert.True(built == 0, build);

        (int code, string text) = await project.DotNetAsync("../Run/bin/Release/net10.0/Run.dll", "--filter", "*", "--job", "dry", "--workers", "1,2");

        Assert.True(code == 0, text);
        foreach (string method in (string[])["Framework", "Native", "Content"])
        {
            Assert.True(Regex.Count(text, $@"\| {method} +\| [12] +\| +[\d.,]+ .?s ") == 2, $"{method} has not two results:\n{text}");
        }
    }
}
