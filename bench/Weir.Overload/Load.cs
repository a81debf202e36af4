using System.Diagnostics;
using System.Net.Http.Json;
using Weir.Resilience;

namespace Weir.Overload;

/// <summary>A call that comes at its time, whatever has become of those before it.</summary>
/// <param name="At">When it comes, in seconds from the start.</param>
/// <param name="Work">How long the server needs for it, in seconds.</param>
/// <param name="Priority">Its priority.</param>
internal sealed record Call(double At, double Work, CallPriority Priority)
{
    public int Attempts { get; set; }

    public int Refused { get; set; }

    /// <summary>When it was begun; later than <see cref="At"/> if this process was busy.</summary>
    public double Begun { get; set; }

    /// <summary>When it ended, in seconds from the start.</summary>
    public double Ended { get; set; }

    public bool IsAnswered { get; set; }

    /// <summary>The clock of its run.</summary>
    public required Func<double> Clock { get; init; }

    public TimeSpan Age => TimeSpan.FromSeconds(Clock() - At);

    public double Seconds => Ended - At;

    public bool IsInTime => IsAnswered && Seconds <= Setting.Deadline.TotalSeconds;
}

/// <summary>The clients' process: an open loop. Calls come by chance (Poisson), by a seed, and are timed from when they should have begun.</summary>
internal static class Load
{
    /// <summary>A fifth is critical, three tenths can wait.</summary>
    private const double Critical = 0.2;
    private const double Background = 0.3;

    public static async Task<Reading> RunAsync(Setting setting, string program)
    {
        using Process server = Process.Start(new ProcessStartInfo("dotnet", [program, "serve", .. setting.ToArguments()])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        })!;
        try
        {
            Uri address = new(await server.StandardOutput.ReadLineAsync() ?? throw new InvalidOperationException("The server did not start."));
            return await RunAsync(setting, address);
        }
        finally
        {
            server.StandardInput.Close();
            if (!server.WaitForExit(TimeSpan.FromSeconds(5)))
            {
                server.Kill();
            }
        }
    }

    private static async Task<Reading> RunAsync(Setting setting, Uri address)
    {
        await using Clients clients = new(setting.Arm, address);
        using HttpClient watch = new() { BaseAddress = address };
        double end = setting.Warm + setting.Seconds;
        long start = 0;
        double Now() => Stopwatch.GetElapsedTime(start).TotalSeconds;

        // The load goes on until the last calls that are measured have ended: otherwise they would have the server to themselves.
        Call[] calls = [.. Calls(setting, end + Setting.Deadline.TotalSeconds, Now)];

        // The first calls compile what the others run.
        start = Stopwatch.GetTimestamp();
        await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => clients.CallAsync(new Call(0, 0, CallPriority.Normal) { Clock = static () => 0 })));

        start = Stopwatch.GetTimestamp();
        Task<(Service.State Before, Service.State After, Second[] Curve)> watching = WatchAsync(setting, watch, Now, end);
        List<Task> running = new(calls.Length);
        (TimeSpan Processor, double At)? before = null;
        foreach (Call call in calls)
        {
            while (call.At > Now())
            {
                await Task.Delay(1);
            }

            before ??= call.At >= setting.Warm ? (Environment.CpuUsage.TotalTime, Now()) : null;

            running.Add(RunAsync(clients, call, Now));
        }

        await Task.WhenAll(running);
        double cores = before is { } from ? (Environment.CpuUsage.TotalTime - from.Processor).TotalSeconds / (Now() - from.At) : 0;
        (Service.State first, Service.State last, Second[] curve) = await watching;
        return Read(setting, [.. calls.Where(call => call.At >= setting.Warm && call.At < end)], first, last) with { ClientCores = cores, Curve = Counted(curve, calls) };
    }

    private static IEnumerable<Call> Calls(Setting setting, double end, Func<double> clock)
    {
        SeededRandom random = new(setting.Seed);
        for (double at = 0; ;)
        {
            at -= Math.Log(1 - random.NextDouble()) / (setting.Load * Setting.Capacity);
            if (at >= end)
            {
                yield break;
            }

            double normal = Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble());
            double work = Setting.Mean * Math.Exp((Setting.Sigma * normal) - (Setting.Sigma * Setting.Sigma / 2));
            double kind = random.NextDouble();
            yield return new Call(at, work, kind < Critical ? CallPriority.Critical : kind > 1 - Background ? CallPriority.Background : CallPriority.Normal)
            {
                Clock = clock,
            };
        }
    }

    private static async Task RunAsync(Clients clients, Call call, Func<double> now)
    {
        call.Begun = now();
        call.IsAnswered = await clients.CallAsync(call);
        call.Ended = now();
    }

    /// <summary>Changes the capacity by the script, and looks at the server each second.</summary>
    private static async Task<(Service.State Before, Service.State After, Second[] Curve)> WatchAsync(
        Setting setting, HttpClient watch, Func<double> now, double end)
    {
        Queue<Change> changes = new(setting.Changes ? Change.Within(end) : [Change.Script[0]]);
        Change current = changes.Peek();
        List<Second> curve = [];
        Service.State state = new(0, 0, 0, 0, default);
        Service.State before = state;
        for (int second = 0; second <= end; second++)
        {
            while (changes.TryPeek(out Change? next) && next.At <= second)
            {
                current = changes.Dequeue();
                (await watch.PostAsync(FormattableString.Invariant($"/change?slots={current.Slots}&rate={current.Rate}"), null)).Dispose();
            }

            state = (await watch.GetFromJsonAsync<Service.State>("/state"))!;
            if (second == (int)setting.Warm)
            {
                before = state;
            }

            curve.Add(new Second(current.Capacity, 0, state.Limit, state.Waiting));
            double left = second + 1 - now();
            await Task.Delay(TimeSpan.FromSeconds(Math.Max(0.001, left)));
        }

        return (before, state, [.. curve]);
    }

    private static Second[] Counted(Second[] curve, Call[] calls)
    {
        int[] inTime = new int[curve.Length];
        foreach (Call call in calls.Where(call => call.IsInTime && call.Ended < curve.Length))
        {
            inTime[(int)call.Ended]++;
        }

        return [.. curve.Select((second, i) => second with { InTime = inTime[i] })];
    }

    private static Reading Read(Setting setting, Call[] calls, Service.State before, Service.State after)
    {
        double[] critical = [.. calls.Where(static call => call is { Priority: CallPriority.Critical, IsInTime: true }).Select(static call => call.Seconds).Order()];
        int inTime = calls.Count(static call => call.IsInTime);
        int attempts = calls.Sum(static call => call.Attempts);
        long done = after.Done - before.Done;
        return new Reading
        {
            Arm = setting.Arm,
            Server = setting.Server.ToString(),
            Load = setting.Load,
            Notices = setting.Notices,
            Seconds = setting.Seconds,
            Calls = calls.Length,
            InTime = inTime,
            Goodput = inTime / (Setting.Capacity * setting.Seconds),
            Retries = (double)calls.Sum(static call => Math.Max(0, call.Attempts - 1)) / calls.Length,
            Refused = (double)calls.Sum(static call => call.Refused) / Math.Max(1, attempts),
            CriticalInTime = (double)critical.Length / Math.Max(1, calls.Count(static call => call.Priority == CallPriority.Critical)),
            CriticalP50 = At(critical, 0.5),
            CriticalP99 = At(critical, 0.99),
            Wasted = done == 0 ? 0 : Math.Max(0, 1 - ((double)inTime / done)),
            ServerCores = after.CoresSince(before),
            StartLag = At([.. calls.Select(static call => call.Begun - call.At).Order()], 0.99),
        };
    }

    private static double At(double[] ordered, double share) => ordered.Length == 0 ? 0 : ordered[(int)(share * (ordered.Length - 1))];
}
