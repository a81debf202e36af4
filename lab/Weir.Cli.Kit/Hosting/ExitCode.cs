namespace Weir.Cli.Kit.Hosting;

/// <summary>The exit codes, which are the same for all commands.</summary>
internal static class ExitCode
{
    public const int Success = 0;

    /// <summary>Bad input, or an unexpected error.</summary>
    public const int Failure = 1;

    /// <summary>Slower than allowed.</summary>
    public const int Regression = 2;

    /// <summary>An audit found a broken promise.</summary>
    public const int Broken = 2;

    /// <summary>The measurement is invalid: a count or a checksum was wrong, or the requested conditions were not met.</summary>
    public const int Invalid = 3;

    /// <summary>The result is inconclusive, and <c>--strict</c> was given.</summary>
    public const int Inconclusive = 4;

    /// <summary>Stopped by a signal, as in shells.</summary>
    public const int Interrupted = 130;
}
