using System.Diagnostics;
using Weir.Lab.ColdStart;
using Weir.Lab.Processes;

namespace Weir.Lab.Suites.Young;

/// <summary>The program of first calls as it lies beside this one, and compiled ahead of time: in whole, and only what would come from packages.</summary>
internal sealed class ColdBuilds : IDisposable
{
    private static readonly string Name = typeof(ColdArms).Assembly.GetName().Name!;

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("weir-cold-");

    /// <summary>The project, looked for in the current directory and those above it; <see langword="null"/> outside of the repository.</summary>
    public static string? Project()
    {
        for (DirectoryInfo? directory = new(Environment.CurrentDirectory); directory is not null; directory = directory.Parent)
        {
            string project = Path.Combine(directory.FullName, "lab", Name, Name + ".csproj");
            if (File.Exists(project))
            {
                return project;
            }
        }

        return null;
    }

    /// <summary>Makes the builds.</summary>
    /// <param name="project">The project.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>The builds, or why there are none.</returns>
    public async Task<(IReadOnlyList<ColdBuild> Builds, string? Failure)> MakeAsync(string project, CancellationToken cancellationToken)
    {
        string own = typeof(ColdArms).Assembly.Location;
        string ahead = Path.Combine(_directory.FullName, "ahead");
        string packages = Path.Combine(_directory.FullName, "packages");
        (int code, string text) = await RunAsync(
            [
                "publish", project, "-c", "Release", "-v", "q", "-nologo", "-p:PublishReadyToRun=true", "-p:UseSharedCompilation=false",
                $"-p:ArtifactsPath={Path.Combine(_directory.FullName, "artifacts")}", "-o", ahead,
            ],
            cancellationToken);
        if (code != 0)
        {
            return ([], $"{project} could not be compiled ahead of time: {text.Trim()}");
        }

        // The program itself as it is, and what it references compiled ahead of time.
        Directory.CreateDirectory(packages);
        foreach (string file in Directory.EnumerateFiles(ahead, "Weir*.dll"))
        {
            File.Copy(file, Path.Combine(packages, Path.GetFileName(file)));
        }

        File.Copy(own, Path.Combine(packages, Path.GetFileName(own)), overwrite: true);
        File.Copy(Path.ChangeExtension(own, ".runtimeconfig.json"), Path.Combine(packages, Name + ".runtimeconfig.json"));
        return (
            [
                new("plain IL", own, 1.5),
                new("Weir compiled ahead", Path.Combine(packages, Name + ".dll"), 1.1),
                new("all compiled ahead", Path.Combine(ahead, Name + ".dll"), 1.1),
            ],
            null);
    }

    public void Dispose()
    {
        try
        {
            _directory.Delete(recursive: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            // The system cleans its temporary directory.
        }
    }

    /// <summary>Runs <c>dotnet</c> to its end, and gives its exit code and what it printed. Its error output is that of this process.</summary>
    public static async Task<(int ExitCode, string Output)> RunAsync(IReadOnlyList<string> arguments, CancellationToken cancellationToken)
    {
        ChildEnd end = await ChildProgram.RunAsync(new ProcessStartInfo("dotnet", arguments), cancellationToken, keepsErrors: false);
        return (end.Code, end.Output);
    }
}
