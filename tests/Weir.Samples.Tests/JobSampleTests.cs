using System.Globalization;
using System.Text.RegularExpressions;

namespace Weir.Samples.Tests;

/// <summary>
/// A batch inside one job of a job system, on a real server: the whole of it, with a stop in the middle, and with a kill in the middle. Each letter is sent, and
/// what is sent twice is what was done before the kill and not noted.
/// </summary>
public class JobSampleTests(SampleServers servers) : IClassFixture<SampleServers>
{
    private const int Patience = 180_000;

    /// <summary>What the samples send in a second, by their rate limit.</summary>
    private const int Rate = 1_000;

    // Seven seconds of work. A stop comes after two of them and a kill after five, so that most of what was done by then must have been noted.
    private const int Letters = 7 * Rate;

    [Fact(Timeout = Patience)]
    public Task HangfireJob_WholeRun_SendsEachLetterOnce() => WholeRunAsync("HangfireJob", hasBroker: false, "enqueue");

    [Fact(Timeout = Patience)]
    public Task HangfireJob_Stopped_GoesOnWithoutRepeating() => StoppedAsync("HangfireJob", hasBroker: false, "enqueue");

    [Fact(Timeout = Patience)]
    public Task HangfireJob_Killed_RepeatsOnlyWhatWasNotNoted() => KilledAsync("HangfireJob", hasBroker: false, "enqueue");

    [Fact(Timeout = Patience)]
    public async Task HangfireJob_Deleted_Stops()
    {
        await using JobWorld world = await JobWorld.CreateAsync(servers, hasBroker: false);
        await world.EnqueueAsync("HangfireJob", "enqueue", "100000");
        await using SampleProgram worker = world.Start("HangfireJob", "work");
        await worker.LineAsync("progress: ");
        await world.EnqueueAsync("HangfireJob", "delete", "1");
        int stopped = Number(await worker.LineAsync("The job was stopped when "));
        Assert.Equal((stopped, stopped), await world.CountAsync());
        worker.Signal(SampleProgram.Terminate);
        (string output, string errors, int code) = await worker.EndAsync();
        Assert.True(code == 0, output + errors);
        Assert.Equal((stopped, stopped), await world.CountAsync());
    }

    [Fact(Timeout = Patience)]
    public Task QuartzJob_WholeRun_SendsEachLetterOnce() => WholeRunAsync("QuartzJob", hasBroker: false, "schedule", "letters.txt");

    [Fact(Timeout = Patience)]
    public Task QuartzJob_Stopped_GoesOnWithoutRepeating() => StoppedAsync("QuartzJob", hasBroker: false, "schedule", "letters.txt");

    [Fact(Timeout = Patience)]
    public Task QuartzJob_Killed_RepeatsOnlyWhatWasNotNoted() => KilledAsync("QuartzJob", hasBroker: false, "schedule", "letters.txt");

    [Fact(Timeout = Patience)]
    public async Task QuartzJob_Interrupted_StopsForGood_AndTheNextFiringGoesOn()
    {
        await using JobWorld world = await JobWorld.CreateAsync(servers, hasBroker: false);
        await EnqueueAsync(world, "QuartzJob", "schedule", Letters, "letters.txt");
        await using SampleProgram worker = world.StartWithInput("QuartzJob", "work");
        await ProgressAsync(worker, 1);
        await worker.WriteAsync("");
        int stopped = Number(await worker.LineAsync("The job was stopped when "));
        Assert.InRange(stopped, 1, Letters - 1);
        Assert.Equal((stopped, stopped), await world.CountAsync());
        await world.EnqueueAsync("QuartzJob", "schedule", world.Folder.File("letters.txt"));
        Assert.Equal($"done: {Letters - stopped} letters sent, {stopped} before", await worker.LineAsync("done: "));
        await EndAsync(worker);
        Assert.Equal((Letters, Letters), await world.CountAsync());
    }

    [Fact(Timeout = Patience)]
    public Task MassTransitJob_WholeRun_SendsEachLetterOnce() => WholeRunAsync("MassTransitJob", hasBroker: true, "send");

    [Fact(Timeout = Patience)]
    public Task MassTransitJob_Stopped_GoesOnWithoutRepeating() => StoppedAsync("MassTransitJob", hasBroker: true, "send");

    [Fact(Timeout = Patience)]
    public Task MassTransitJob_Killed_RepeatsOnlyWhatWasNotNoted() => KilledAsync("MassTransitJob", hasBroker: true, "send");

    [Fact(Timeout = Patience)]
    public Task WolverineJob_WholeRun_SendsEachLetterOnce() => WholeRunAsync("WolverineJob", hasBroker: true, "send");

    [Fact(Timeout = Patience)]
    public Task WolverineJob_Stopped_GoesOnWithoutRepeating() => StoppedAsync("WolverineJob", hasBroker: true, "send");

    [Fact(Timeout = Patience)]
    public Task WolverineJob_Killed_RepeatsNothing() => KilledAsync("WolverineJob", hasBroker: true, "send");

    private async Task WholeRunAsync(string sample, bool hasBroker, string command, string? file = null)
    {
        await using JobWorld world = await JobWorld.CreateAsync(servers, hasBroker);
        await EnqueueAsync(world, sample, command, 500, file);
        await using SampleProgram worker = world.Start(sample, "work");
        Assert.Equal("done: 500 letters sent, 0 before", await worker.LineAsync("done: "));
        await EndAsync(worker);
        Assert.Equal((500, 500), await world.CountAsync());
    }

    private async Task StoppedAsync(string sample, bool hasBroker, string command, string? file = null)
    {
        await using JobWorld world = await JobWorld.CreateAsync(servers, hasBroker);
        await EnqueueAsync(world, sample, command, Letters, file);
        int stopped;
        await using (SampleProgram worker = world.Start(sample, "work"))
        {
            await ProgressAsync(worker, 2);
            worker.Signal(SampleProgram.Terminate);
            stopped = Number(await worker.LineAsync("The job was stopped when "));
            (string output, string errors, int code) = await worker.EndAsync();
            Assert.True(code == 0, output + errors);
        }

        // Those that had begun have ended, and are noted.
        Assert.InRange(stopped, 1, Letters - 1);
        Assert.Equal((stopped, stopped), await world.CountAsync());
        await using SampleProgram next = world.Start(sample, "work");
        Assert.Equal($"done: {Letters - stopped} letters sent, {stopped} before", await next.LineAsync("done: "));
        await EndAsync(next);
        Assert.Equal((Letters, Letters), await world.CountAsync());
    }

    private async Task KilledAsync(string sample, bool hasBroker, string command, string? file = null)
    {
        await using JobWorld world = await JobWorld.CreateAsync(servers, hasBroker);
        await EnqueueAsync(world, sample, command, Letters, file);
        await using (SampleProgram worker = world.Start(sample, "work"))
        {
            await ProgressAsync(worker, 5);
            worker.Signal(SampleProgram.Kill);
            await worker.EndAsync();
        }

        await world.NobodyElseAsync();
        (int done, int times) = await world.CountAsync();
        Assert.Equal(done, times);
        Assert.InRange(done, 1, Letters - 1);
        await using SampleProgram next = world.Start(sample, "work");
        Match end = Regex.Match(await next.LineAsync("done: "), @"^done: (\d+) letters sent, (\d+) before$");
        (int sent, int before) = (int.Parse(end.Groups[1].Value, CultureInfo.InvariantCulture), int.Parse(end.Groups[2].Value, CultureInfo.InvariantCulture));
        await EndAsync(next);

        // Nothing is left out, and what is sent twice is what was done and not noted, to the last one.
        int repeated = done - before;
        TestContext.Current.SendDiagnosticMessage("{0}: {1} of {2} letters were sent when it was killed, {3} of them once more.", sample, done, Letters, repeated);
        Assert.Equal(Letters, sent + before);
        Assert.Equal((Letters, Letters + repeated), await world.CountAsync());

        // It notes each second what is done, for five seconds. A machine that is busy may save late. Where the rows say it themselves, nothing is repeated.
        Assert.InRange(repeated, 0, sample == "WolverineJob" ? 0 : done / 2);
    }

    private static Task EnqueueAsync(JobWorld world, string sample, string command, int letters, string? file) =>
        world.EnqueueAsync(sample, [command, $"{letters}", .. file is null ? (string[])[] : [world.Folder.File(file)]]);

    private static async Task ProgressAsync(SampleProgram worker, int reports)
    {
        do
        {
            await worker.LineAsync("progress: ");
        }
        while (worker.Count("progress: ") < reports);
    }

    private static async Task EndAsync(SampleProgram worker)
    {
        worker.Signal(SampleProgram.Terminate);
        (string output, string errors, int code) = await worker.EndAsync();
        Assert.True(code == 0, output + errors);
    }

    private static int Number(string line) =>
        int.Parse(Regex.Match(line, @"[\d,]+").Value, NumberStyles.AllowThousands, CultureInfo.InvariantCulture);
}
