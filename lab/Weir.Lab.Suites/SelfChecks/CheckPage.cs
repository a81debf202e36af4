using System.Text;
using Weir.Lab.Resources;
using Weir.Lab.Suites.Figures;
using static System.FormattableString;

namespace Weir.Lab.Suites.SelfChecks;

/// <summary>The page of the checks.</summary>
internal static class CheckPage
{
    private const int CanaryPieces = 100;

    public static async Task<string> RenderAsync(IReadOnlyList<CheckSection> sections)
    {
        StringBuilder page = new();
        page.Append("# The lab, checked on itself\n\n");
        page.Append("Made by `dotnet run -c Release --project lab/Weir.Cli -- selfcheck --output docs/results/lab.md`.\n\n");
        CanaryReading canary = Canary.Read(CanaryPieces);
        page.Append(Invariant($"Measured at commit {await Surroundings.CommitAsync()}; {Surroundings.Machine()}; timer tick {(await TimerTick.MeasureAsync()).TotalMilliseconds:0.0} ms; canary {canary.Variation:P1} afterwards."));
        page.Append(canary.IsQuiet ? "\n" : " **The machine was not quiet: other programs had a share of its processors.**\n");
        foreach (CheckSection section in sections)
        {
            page.Append(Invariant($"\n## {section.Title}\n\nGoal: {section.Goal} {(section.IsMet ? "Met." : "**Not met.**")}\n\n{section.Table}"));
        }

        return page.ToString();
    }
}
