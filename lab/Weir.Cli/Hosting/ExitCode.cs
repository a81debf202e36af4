namespace Weir.Cli.Hosting;

/// <summary>What a command's exit code means. They are the same for all commands.</summary>
internal static class ExitCode
{
    public const int Success = 0;

    /// <summary>Bad input, or an error that nobody foresaw.</summary>
    public const int Failure = 1;

    /// <summary>Slower than allowed.</summary>
    public const int Regression = 2;

    /// <summary>The measurement means nothing: a count or a checksum was wrong, or the conditions were not those asked for.</summary>
    public const int Invalid = 3;

    /// <summary>Nothing can be said, and <c>--strict</c> asks for something.</summary>
    public const int Inconclusive = 4;

    /// <summary>Stopped by a signal, as shells have it.</summary>
    public const int Interrupted = 130;
}
