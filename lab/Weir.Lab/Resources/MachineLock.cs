namespace Weir.Lab.Resources;

/// <summary>Prevents two measurements from running on one machine at once, where they would disturb each other.</summary>
internal sealed class MachineLock : IDisposable
{
    private readonly FileStream _file;

    private MachineLock(FileStream file) => _file = file;

    /// <summary>Where the lock is by default: the same file for all processes of the machine that share a temporary folder.</summary>
    public static string DefaultPath { get; } = Path.Combine(Path.GetTempPath(), "weir-lab.lock");

    /// <summary>Takes the lock if it is free. A process that ends in any way releases it.</summary>
    /// <param name="path">The file; <see langword="null"/> for <see cref="DefaultPath"/>.</param>
    /// <returns>The lock; <see langword="null"/> when another process or another caller has it, or the file cannot be written.</returns>
    public static MachineLock? TryTake(string? path = null)
    {
        try
        {
            return new MachineLock(new FileStream(path ?? DefaultPath, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None));
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    /// <summary>Releases the lock.</summary>
    public void Dispose() => _file.Dispose();
}
