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
            string project = Path.Combine(directory.FullName, "bench", Name, Name + ".csproj");
            if (File.Exists(project))
            {
                return project;
            }
        }

        return null;
    }

    /// <summary>Compiles the program of first calls ahead of time.</summary>
    /// <exception cref="BadInputException">The current directory is outside of the repository.</exception>
    /// <exception cref="InvalidOperationException">It could not be compiled.</exception>
    public static async Task<ColdBuilds> PublishAsync(TextWriter progress, CancellationToken cancellationToken)
    {
        string project = Project() ?? throw new BadInputException("Weir is compiled ahead of time for this, so it must be run inside of the repository.");
        await progress.WriteLineAsync("compiling ahead of time");
        ColdBuilds builds = new();
        ChildEnd end = await Start(
            [
                "publish", project, "-c", "Release", "-v", "q", "-nologo", "-p:PublishReadyToRun=true", "-p:UseSharedCompilation=false",
                $"-p:ArtifactsPath={Path.Combine(builds._directory.FullName, "artifacts")}", "-o", builds.Ahead,
            ],
            cancellationToken)();
        if (end.Code == 0)
        {
            return builds;
        }

        builds.Dispose();
        throw new InvalidOperationException($"{project} could not be compiled ahead of time: {end.Output.Trim()}");
    }

    /// <summary>Makes the builds.</summary>
    public IReadOnlyList<ColdBuild> All()
    {
        // The program itself as it is, and what it references compiled ahead of time.
        string own = typeof(ColdArms).Assembly.Location;
        string packages = Path.Combine(_directory.FullName, "packages");
        Directory.CreateDirectory(packages);
        CopyAhead(packages);
        File.Copy(own, Path.Combine(packages, Path.GetFileName(own)));
        File.Copy(Path.ChangeExtension(own, ".runtimeconfig.json"), Path.Combine(packages, Name + ".runtimeconfig.json"));
        return
        [
            new("plain IL", own),
            new("Weir compiled ahead", Path.Combine(packages, Name + ".dll")),
            new("all compiled ahead", Path.Combine(Ahead, Name + ".dll")),
        ];
    }

    /// <summary>Makes a copy of another program that comes with Weir's assemblies compiled ahead of time, and is otherwise as it is.</summary>
    public string CopyOf(string program)
    {
        string from = Path.GetDirectoryName(program)!;
        string copy = Path.Combine(_directory.FullName, "copy");
        foreach (string file in Directory.EnumerateFiles(from, "*", SearchOption.AllDirectories))
        {
            string to = Path.Combine(copy, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(to)!);
            File.Copy(file, to);
        }

        CopyAhead(copy);
        return Path.Combine(copy, Path.GetFileName(program));
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

    /// <summary>Builds a program of the folder bench that a verb starts.</summary>
    /// <returns>Its assembly.</returns>
    /// <exception cref="BadInputException">The current directory is outside of the repository.</exception>
    /// <exception cref="InvalidOperationException">It could not be built.</exception>
    public static async Task<string> BuildAsync(string verb, string program, CancellationToken stop)
    {
        string root = Path.GetDirectoryName(Path.GetDirectoryName(Path.GetDirectoryName(Project())))
            ?? throw new BadInputException($"{verb} builds its program, so it must be run inside of the repository.");
        ChildEnd built = await Start(["build", Path.Combine(root, "bench", program), "-c", "Release", "-v", "q", "-nologo", "-clp:NoSummary"], stop)();
        return built.Code == 0
            ? Path.Combine(root, "artifacts", "bin", program, "release", $"{program}.dll")
            : throw new InvalidOperationException($"{program} could not be built: {built.Output.Trim()}");
    }

    /// <summary>What runs <c>dotnet</c> to its end. Its error output is that of this process.</summary>
    public static Func<Task<ChildEnd>> Start(IReadOnlyList<string> arguments, CancellationToken cancellationToken) =>
        () => ChildProgram.RunAsync(new ProcessStartInfo("dotnet", arguments), cancellationToken, capturesErrors: false);
}
