namespace Weir.Cli.Storage;

/// <summary>The kernel's count of the bytes that it read from a device for this process: reads from the page cache are not in it.</summary>
internal static class DeviceReads
{
    private const string Field = "read_bytes:";

    /// <summary>The bytes since the process started; <see langword="null"/> where the system does not count them.</summary>
    public static long? Take()
    {
        try
        {
            string? line = File.ReadLines("/proc/self/io").FirstOrDefault(static l => l.StartsWith(Field, StringComparison.Ordinal));
            return line is null ? null : long.Parse(line.AsSpan(Field.Length), CultureInfo.InvariantCulture);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
