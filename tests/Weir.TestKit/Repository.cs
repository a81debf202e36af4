namespace Weir.TestKit;

/// <summary>The repository that the running tests were built in, for tests that read its pages and projects.</summary>
public static class Repository
{
    /// <summary>Its folder.</summary>
    /// <exception cref="InvalidOperationException">The tests do not run from inside it.</exception>
    public static string Root { get; } = Find();

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
