using Weir.Cli.Commands.Load.Arms;
using Weir.Cli.Commands.Load.Options;
using Weir.Lab.Resources;
using Weir.Lab.Suites.Peers;
using Weir.Lab.Trials;

namespace Weir.Cli.Commands.Load.Report;

/// <summary>Everything that a run has to say, before it is written in one form or another.</summary>
internal sealed class LoadReport
{
    public LoadReport(LoadSettings settings, string work, DateTimeOffset startedAt, IReadOnlyList<LoadArm> arms, TrialReport trials)
    {
        Settings = settings;
        Work = work;
        StartedAt = startedAt;
        IsPartial = trials.IsPartial;
        ArmResult? Named(string name) => trials.Arms.FirstOrDefault(arm => arm.Name == name);
        ArmResult? direct = Named("direct");
        ArmResult? loop = Named(Peer.Loop.Name);
        ArmResult? forEach = Named(Peer.ForEachAsync.Name);
        Rows =
        [
            .. arms.Zip(trials.Arms, (arm, result) => new LoadRow(arm, result)
            {
                AboveDirect = direct is null ? null : TrialReport.NanosecondsAbove(result, direct),
                ToLoop = loop is null ? null : TrialReport.Ratio(result, loop),
                ToForEachAsync = forEach is null ? null : TrialReport.Ratio(result, forEach),
            }),
        ];
    }

    public LoadSettings Settings { get; }

    /// <summary>What was done for each item.</summary>
    public string Work { get; }

    public DateTimeOffset StartedAt { get; }

    public MachineInfo Machine { get; } = MachineInfo.Read();

    /// <summary>Whether the run was stopped before its end.</summary>
    public bool IsPartial { get; }

    public IReadOnlyList<LoadRow> Rows { get; }

    /// <summary>The word for the runtimes that took part.</summary>
    public string Runtime => Settings.Runtimes.Count > 1 ? "all" : Settings.Choices[0].Word;

    /// <summary>The most memory that the process had resident so far.</summary>
    public long PeakResidentBytes => Rows.Max(static row => row.Result.Resources.PeakResidentBytes);
}
