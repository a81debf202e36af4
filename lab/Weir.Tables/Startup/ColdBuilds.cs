using System.Diagnostics;
using Weir.Lab.ColdStart;
using Weir.Lab.Processes;

namespace Weir.Tables.Startup;

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
        if (await PublishAsync(project, cancellationToken) is { } failure)
        {
            return ([], failure);
        }

        // The program itself as it is, and what it references compiled ahead of time.
        string own = typeof(ColdArms).Assembly.Location;
        string packages = Path.Combine(_directory.FullName, "packages");
        Directory.CreateDirectory(packages);
        CopyAhead(packages);
        File.Copy(own, Path.Combine(packages, Path.GetFileName(own)));
        File.Copy(Path.ChangeExtension(own, ".runtimeconfig.json"), Path.Combine(packages, Name + ".runtimeconfig.json"));
        return (
            [
                new("plain IL", own, 1.5),
                new("Weir compiled ahead", Path.Combine(packages, Name + ".dll"), 1.1),
                new("all compiled ahead", Path.Combine(Ahead, Name + ".dll"), 1.1),
            ],
            null);
    }

    /// <summary>Makes a copy of another program that comes with Weir's assemblies compiled ahead of time, and is otherwise as it is.</summary>
    /// <param name="project">The project of this program, which brings them.</param>
    /// <param name="program">The other program's assembly.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <returns>The copy's assembly, or why there is none.</returns>
    public async Task<(string? Program, string? Failure)> MakeCopyAsync(string project, string program, CancellationToken cancellationToken)
    {
        if (await PublishAsync(project, cancellationToken) is { } failure)
        {
            return (null, failure);
        }

        string from = Path.GetDirectoryName(program)!;
        string copy = Path.Combine(_directory.FullName, "copy");
        Directory.CreateDirectory(copy);
        foreach (string directory in Directory.EnumerateDirectories(from, "*", SearchOption.AllDirectories))
        {
            Directory.CreateDirectory(Path.Combine(copy, Path.GetRelativePath(from, directory)));
        }

        foreach (string file in Directory.EnumerateFiles(from, "*", SearchOption.AllDirectories))
        {
            File.Copy(file, Path.Combine(copy, Path.GetRelativePath(from, file)));
        }

        CopyAhead(copy);
        return (Path.Combine(copy, Path.GetFileName(program)), null);
    }

    private string Ahead => Path.Combine(_directory.FullName, "ahead");

    /// <summary>Copies what the program of first calls references, compiled ahead of time, over what lies in a directory.</summary>
    private void CopyAhead(string directory)
    {
        foreach (string file in Directory.EnumerateFiles(Ahead, "Weir*.dll"))
        {
            if (Path.GetFileNameWithoutExtension(file) != Name)
            {
                File.Copy(file, Path.Combine(directory, Path.GetFileName(file)), overwrite: true);
            }
        }
    }

    /// <summary>Compiles the program of first calls ahead of time, and gives the reason if that fails.</summary>
    private async Task<string?> PublishAsync(string project, CancellationToken cancellationToken)
    {
        (int code, string text) = await RunAsync(
            [
                "publish", project, "-c", "Release", "-v", "q", "-nologo", "-p:PublishReadyToRun=true", "-p:UseSharedCompilation=false",
                $"-p:ArtifactsPath={Path.Combine(_directory.FullName, "artifacts")}", "-o", Ahead,
            ],
            cancellationToken);
        return code == 0 ? null : $"{project} could not be compiled ahead of time: {text.Trim()}";
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
