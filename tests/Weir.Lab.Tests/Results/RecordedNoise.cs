namespace Weir.Lab.Tests.Results;

/// <summary>Rounds that were measured on a busy machine: the noise that simulations are made of.</summary>
internal static class RecordedNoise
{
    /// <summary>The lines of a file, without the heads of its columns.</summary>
    public static IEnumerable<string> Lines(string file)
    {
        using StreamReader reader = new(typeof(RecordedNoise).Assembly.GetManifestResourceStream(file)!);
        return [.. reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries).Skip(1)];
    }
}
