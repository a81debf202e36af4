namespace Weir.Cli.Measuring;

/// <summary>The option <c>--fail-if</c>: conditions under which the command ends with exit code 2.</summary>
internal sealed class ThresholdOption
{
    private readonly Option<string[]> _flag = new(Threshold.Flag)
    {
        HelpName = "'p99>50ms'", Description = "Exit code 2 if an arm meets the condition, such as rate<1000/s or failures>1%",
    };

    public void AddTo(Command command) => command.Add(_flag);

    /// <summary>Reads them, before anything is measured.</summary>
    public IReadOnlyList<Threshold> Read(ParseResult parsed) => [.. (parsed.GetValue(_flag) ?? []).Select(Threshold.Parse)];

    /// <summary>Writes the result with what the conditions say, and returns the exit code.</summary>
    public static int Write(ResultFile result, IReadOnlyList<Threshold> thresholds, OutputSettings output, WeirHost host)
    {
        (Finding Finding, bool IsBroken)[] found = [.. thresholds.SelectMany(t => t.Check(result))];
        int code = ResultOutput.Write(result with { Findings = [.. result.Findings, .. found.Select(static f => f.Finding)] }, output, host);
        if (code is not (ExitCode.Success or ExitCode.Inconclusive) || !Array.Exists(found, static f => f.IsBroken))
        {
            return code;
        }

        host.Say(Array.Find(found, static f => f.IsBroken).Finding.Text);
        return ExitCode.Regression;
    }
}
