namespace Weir.Cli.Programs;

/// <summary>How one run of a program ended, and the resources that it used, including all programs that it started and waited for.</summary>
/// <param name="Seconds">From before its start to its end.</param>
/// <param name="UserSeconds">Processor time outside the kernel.</param>
/// <param name="SystemSeconds">Processor time in the kernel.</param>
/// <param name="PeakBytes">The most memory that one of these programs had resident.</param>
/// <param name="Switches">How often they gave up a processor, voluntarily or not; <see langword="null"/> if the system does not count it.</param>
/// <param name="Code">The exit code; the negative signal number if a signal ended the program.</param>
internal sealed record ProgramEnd(double Seconds, double UserSeconds, double SystemSeconds, long PeakBytes, long? Switches, int Code)
{
    /// <summary>The end in words.</summary>
    public string Text => Code >= 0 ? $"ended with exit code {Code}" : $"was ended by signal {-Code}";
}
