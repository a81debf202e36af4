using Weir.Cli.Tests.Support;
using Weir.Lab.Results;
using Weir.TestKit;

namespace Weir.Cli.Tests.UserCode;

/// <summary>A library of somebody else, whose build does not copy what it needs: a package, its native library, and a framework that this program has not.</summary>
public class UserPackageTests
{
    [Fact(Timeout = 300_000)]
    public async Task Run_LibraryWithPackages_IsMeasuredWithThemOrRefused()
    {
        using UserProject project = new(
            "Library",
            $"""
            <PropertyGroup>
              <TargetFramework>net10.0</TargetFramework>
            </PropertyGroup>
            <ItemGroup>
              <FrameworkReference Include="Microsoft.AspNetCore.App" />
              {UserProject.Package("Microsoft.Data.Sqlite")}
            </ItemGroup>
            """,
            ("Code.cs", """
            using Microsoft.Data.Sqlite;

            public class Code
            {
                public int Framework() => new Microsoft.AspNetCore.Http.DefaultHttpContext().Response.StatusCode;

                public object Native()
                {
                    using SqliteConnection connection = new("Data Source=:memory:");
                    connection.Open();
                    using SqliteCommand command = connection.CreateCommand();
                    command.CommandText = "select 4";
                    return command.ExecuteScalar();
                }
            }
            """));
        (int built, string build) = await project.DotNetAsync("build", "-c", "Release", "-o", "out");
        Assert.True(built == 0, build);
        string assembly = Path.Combine(project.Folder, "out", "Library.dll");
        Assert.False(File.Exists(Path.Combine(project.Folder, "out", "Microsoft.Data.Sqlite.dll")));

        foreach (string method in (string[])["Framework", "Native"])
        {
            LoadResult result = await RunAsync(assembly, method);

            Assert.True(result.ExitCode is 0 or 3, result.Error);
            ArmRecord arm = Assert.Single(ResultJson.Parse(result.Out, "output").Arms);
            RoundRecord round = Assert.Single(arm.Rounds);
            Assert.True(round.Problem is null || round.Disturbed, round.Problem);
            Assert.Equal(0, round.Failures);
            Assert.True(round.Operations > 0);
        }

        // The package is said to be another one, which nobody has.
        string dependencies = Path.ChangeExtension(assembly, ".deps.json");
        await File.WriteAllTextAsync(
            dependencies,
            (await File.ReadAllTextAsync(dependencies, TestContext.Current.CancellationToken))
                .Replace("icrosoft.Data.Sqlite.Core/10.", "icrosoft.Data.Sqlite.Core/910.", StringComparison.OrdinalIgnoreCase),
            TestContext.Current.CancellationToken);
        LoadResult refused = await RunAsync(assembly, "Native");

        Assert.Equal(1, refused.ExitCode);
        Assert.Matches(
            "^weir: --assembly '.*Library.dll' needs Microsoft.Data.Sqlite.Core 910\\.[0-9.]+, which is neither beside it nor in the folder of the packages; build "
                + "it with -p:CopyLocalLockFileAssemblies=true, so that what it needs lies beside it.\n$",
            refused.Error);
    }

    private static Task<LoadResult> RunAsync(string assembly, string method) => new CliUnderTest().RunAsync(
        ["run", "--assembly", assembly, "--method", method, "--workers", "1", "--rounds", "1", "--duration", "20ms", "--quiet", "--json"]);
}
