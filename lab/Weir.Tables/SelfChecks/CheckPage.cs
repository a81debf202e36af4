using System.Text;
using Weir.Lab.Resources;
using static System.FormattableString;

namespace Weir.Tables.SelfChecks;

/// <summary>The page of the checks. A section that is not measured stays as it is, with the commit that it was measured with.</summary>
internal sealed class CheckPage(string existing)
{
    private const string Command = "eng/tables selfcheck";
    private const int CanaryPieces = 100;

    private readonly Dictionary<string, string> _measured = PageBlocks.Read(existing, PageBlocks.Measured);

    /// <summary>Puts what a check found in the place of what was there.</summary>
    public async Task ReplaceAsync(SelfCheck check, CheckSection section)
    {
        CanaryReading canary = Canary.Read(CanaryPieces);
        _measured[check.Name] = Invariant($"Goal: {section.Goal} {(section.IsMet ? "Met." : "**Not met.**")}\n\n{section.Table}\n")
            + Invariant($"Measured at commit {Surroundings.Commit()}; {Surroundings.Machine()}; timer tick ")
            + Invariant($"{(await TimerTick.MeasureAsync()).TotalMilliseconds:0.0} ms; canary {canary.Variation:P1} afterwards.")
            + (canary.IsQuiet ? "" : " **The machine was not quiet: other programs had a share of its processors.**");
    }

    public string Render(IEnumerable<SelfCheck> checks)
    {
        StringBuilder page =
            new($"# The lab, checked on itself\n\nMade by `{Command} --output docs/results/lab.md`; `--only NAME` makes a single section.\n");
        foreach (SelfCheck check in checks)
        {
            page.Append(Invariant($"\n## {check.Title}\n\n"));
            PageBlocks.Append(page, PageBlocks.Measured, check.Name,
                _measured.GetValueOrDefault(check.Name, $"Not measured yet: `{Command} --only {check.Name} --output docs/results/lab.md`"));
        }

        return page.ToString();
    }
}
