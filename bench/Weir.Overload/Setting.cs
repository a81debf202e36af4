using System.Globalization;

namespace Weir.Overload;

/// <summary>The arms, by their names.</summary>
internal static class Arms
{
    public const string Nothing = "nothing";
    public const string Polly = "Polly";
    public const string Fixed = "fixed limit";
    public const string Weir = "Weir";

    /// <summary>The server does not heed when its clients leave.</summary>
    public const string NoDeadlines = "Weir without deadlines";

    /// <summary>The clients retry as the others do.</summary>
    public const string NoBudget = "Weir without a budget";

    /// <summary>Those that are compared.</summary>
    public static string[] All { get; } = [Nothing, Polly, Fixed, Weir];
}

/// <summary>How a server reacts to more calls than it has slots.</summary>
internal enum ServerKind
{
    /// <summary>They wait.</summary>
    Slots = 0,

    /// <summary>All become slower, and together they lose time.</summary>
    Knee,
}

/// <summary>What one process measures: an arm, a server, and the load on it. The same for all arms but for their policies.</summary>
internal sealed record Setting
{
    /// <summary>How many calls the server can work on at once.</summary>
    public const int Slots = 8;

    /// <summary>How long a call takes in the mean, alone.</summary>
    public const double Mean = 0.04;

    /// <summary>The spread of these times, which are log-normal: 1 % take longer than 2.8 times the mean.</summary>
    public const double Sigma = 0.5;

    /// <summary>How many calls a second the server can answer.</summary>
    public const double Capacity = Slots / Mean;

    /// <summary>How many attempts may follow the first.</summary>
    public const int Retries = 3;

    /// <summary>When the client of a call leaves.</summary>
    public static TimeSpan Deadline { get; } = TimeSpan.FromSeconds(1);

    /// <summary>When a client gives an attempt up: the share of the deadline that the standard pipeline has.</summary>
    public static TimeSpan Attempt { get; } = Deadline / 3;

    /// <summary>From what the delay before a retry grows, in the same scale.</summary>
    public static TimeSpan Delay { get; } = Deadline / 15;

    public string Arm { get; init; } = "";

    public ServerKind Server { get; init; }

    /// <summary>Calls a second, as a multiple of the capacity.</summary>
    public double Load { get; init; } = 1;

    /// <summary>Whether the service stops working for a client that has gone.</summary>
    public bool Notices { get; init; }

    /// <summary>Whether the capacity changes, by the script of <see cref="Change"/>.</summary>
    public bool Changes { get; init; }

    /// <summary>How long the load lasts before it is measured.</summary>
    public double Warm { get; init; }

    /// <summary>How long it is measured.</summary>
    public double Seconds { get; init; }

    public int Seed { get; init; } = 1;

    public static Setting Parse(IReadOnlyList<string> args)
    {
        Dictionary<string, string> values = args.Select(static arg => arg.Split('=', 2)).ToDictionary(static pair => pair[0], static pair => pair[1]);
        double Number(string name) => double.Parse(values[name], CultureInfo.InvariantCulture);
        return new Setting
        {
            Arm = values["arm"],
            Server = Enum.Parse<ServerKind>(values["server"]),
            Load = Number("load"),
            Notices = bool.Parse(values["notices"]),
            Changes = bool.Parse(values["changes"]),
            Warm = Number("warm"),
            Seconds = Number("seconds"),
            Seed = (int)Number("seed"),
        };
    }

    public IEnumerable<string> ToArguments() => ((string[])
    [
        $"arm={Arm}", $"server={Server}", FormattableString.Invariant($"load={Load}"), $"notices={Notices}", $"changes={Changes}",
        FormattableString.Invariant($"warm={Warm}"), FormattableString.Invariant($"seconds={Seconds}"), $"seed={Seed}",
    ]);
}

/// <summary>A change of the capacity, from a second of each two minutes on.</summary>
internal sealed record Change(double At, string What, int Slots, double Rate)
{
    /// <summary>After how many seconds the script begins again.</summary>
    public const double Period = 120;

    /// <summary>Each change is followed by the way back. A pause is not answered by more capacity: what came meanwhile is lost.</summary>
    public static Change[] Script { get; } =
    [
        new(0, "", Setting.Slots, 1),
        new(15, "half of the slots", Setting.Slots / 2, 1),
        new(35, "back from half of the slots", Setting.Slots, 1),
        new(50, "twice the slots", Setting.Slots * 2, 1),
        new(70, "back from twice the slots", Setting.Slots, 1),
        new(80, "half of the speed", Setting.Slots, 0.5),
        new(95, "back from half of the speed", Setting.Slots, 1),
        new(106, "a pause of 2 s", Setting.Slots, 0),
        new(108, "back from a pause of 2 s", Setting.Slots, 1),
    ];

    /// <summary>How many calls a second the server can answer.</summary>
    public double Capacity => Slots * Rate / Setting.Mean;

    /// <summary>All changes of a run.</summary>
    public static IEnumerable<Change> Within(double seconds) => Enumerable.Range(0, (int)Math.Ceiling(seconds / Period))
        .SelectMany(static round => Script.Select(change => change with { At = change.At + (round * Period) })).Where(change => change.At < seconds);
}
