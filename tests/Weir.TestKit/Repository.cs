namespace Weir.TestKit;

/// <summary>The repository that the running tests were built in, for tests that read its pages and projects.</summary>
public static class Repository
{
    /// <summary>Its folder.</summary>
    /// <exception cref="InvalidOperationException">The tests do not run from inside it.</exception>
    public static string Root { get; } = Find();

    /// <summary>The folder of a project's build that lies beside that of the running program: of the same configuration.</summary>
    public static string Built(string project)
    {
        string own = AppContext.BaseDirectory.TrimEnd(Path.DirectorySeparatorChar);
        return Path.GetFullPath(Path.Combine(own, "..", "..", project, Path.GetFileName(own)));
    }

    private static string Find()
    {
        string? folder = AppContext.BaseDirectory;
        while (folder is not null && !File.Exists(Path.Combine(folder, "Weir.slnx")))
        {
            folder = Path.GetDirectoryName(folder);
        }

        return folder ?? throw new InvalidOperationException("The tests run from inside the repository.");
    }
}
