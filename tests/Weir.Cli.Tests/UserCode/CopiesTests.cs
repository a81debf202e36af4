using Weir.Cli.Tests.Support;
using Weir.Cli.Workloads.UserCode;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Cli.Tests.UserCode;

/// <summary>An assembly that is loaded several times: each copy has its own statics and objects, and all of them end.</summary>
public class CopiesTests
{
    private const string Code = """
        public sealed class Noted(string notes, string only = "", int milliseconds = 0, string other = "") : IDisposable
        {
            private static int s_calls;
            private readonly System.IO.FileStream? _only = Begin(notes, only, milliseconds);

            public int Call() => ++s_calls;

            public void Dispose()
            {
                _only?.Dispose();
                System.IO.File.AppendAllText(notes, s_calls > 0 ? "used\n" : "unused\n");
            }

            private static System.IO.FileStream? Begin(string notes, string only, int milliseconds)
            {
                var watch = System.Diagnostics.Stopwatch.StartNew();
                while (watch.ElapsedMilliseconds < milliseconds)
                {
                }

                var opened = only == "" ? null
                    : new System.IO.FileStream(only, System.IO.FileMode.Create, System.IO.FileAccess.Write, System.IO.FileShare.None);
                System.IO.File.AppendAllText(notes, "made\n");
                return opened;
            }
        }

        public sealed class Alone(string notes, string other) : IDisposable
        {
            private readonly System.IO.FileStream _other = new(other, System.IO.FileMode.Create, System.IO.FileAccess.Write, System.IO.FileShare.None);

            public long CallAlone() => _other.Length;

            public void Dispose() => _other.Dispose();
        }
        """;

    [Fact(Timeout = 300_000)]
    public async Task Rounds_OfCopies_RunEachInTurnAndDisposeOfAll()
    {
        using Notes notes = new();

        WorkerRun run = await notes.RunAsync(["Noted.Call"], "Call", []);

        Assert.All(run.Rounds, static r => Assert.Empty(r.Troubles));
        Assert.Equal(["made", "made", "made", "used", "used", "used"], notes.Lines);
    }

    [Fact(Timeout = 300_000)]
    public async Task Copy_OfAnObjectThatCannotBeThereTwice_IsNotMade()
    {
        using Notes notes = new();

        WorkerRun run = await notes.RunAsync(["Noted.Call"], "Call", new() { ["only"] = notes.Of("only") });

        Assert.All(run.Rounds, static r => Assert.Empty(r.Troubles));
        Assert.Equal(["made", "used"], notes.Lines);
    }

    [Fact(Timeout = 300_000)]
    public async Task Copy_OfWhichOneObjectCannotBeMade_DisposesOfTheOther()
    {
        using Notes notes = new();

        WorkerRun run = await notes.RunAsync(["Noted.Call", "Alone.CallAlone"], "Call", new() { ["other"] = notes.Of("other") });

        Assert.All(run.Rounds, static r => Assert.Empty(r.Troubles));
        Assert.Equal(["made", "made", "unused", "used"], notes.Lines);
    }

    [Fact(Timeout = 300_000)]
    public async Task Copy_WithALongSetup_IsNotMade()
    {
        using Notes notes = new();

        await notes.RunAsync(["Noted.Call"], "Call", new() { ["milliseconds"] = "101" });

        Assert.Equal(["made", "used"], notes.Lines);
    }

    private sealed class Notes : IDisposable
    {
        private readonly TemporaryDirectory _directory = new();

        public string[] Lines => File.ReadAllLines(Of("notes"));

        public string Of(string name) => Path.Combine(_directory.Path, name);

        public Task<WorkerRun> RunAsync(string[] methods, string group, Dictionary<string, string> values)
        {
            UserAssembly assembly = UserAssembly.Load(CompiledCode.Write(_directory.Path, "Noting", Code));
            values["notes"] = Of("notes");
            IWorkload own = UserWorkloads.Create("noting", assembly, methods, values);
            WorkerRunSpec spec = new()
            {
                Workload = "noting",
                Groups = [new WorkerGroup(group, 1)],
                Rounds = 3,
                Duration = TimeSpan.FromMilliseconds(5),
                LongestWarmUp = TimeSpan.Zero,
                MostRepeats = 0,
            };
            return new WorkerRunner(spec).RunAsync(new InCopies(Assert.IsType<MethodWorkload>(own))).WithinAsync("the run");
        }

        public void Dispose() => _directory.Dispose();
    }

    /// <summary>Makes the copies at once, and not when the first windows were short.</summary>
    private sealed class InCopies(MethodWorkload own) : IWorkload
    {
        public async ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
        {
            await own.SetupAsync(spec, cancellationToken);
            await own.CopyAsync(3);
        }

        public ValueTask BeginRoundAsync(CancellationToken cancellationToken) => own.BeginRoundAsync(cancellationToken);

        public Operation CreateOperation(WorkerContext context) => own.CreateOperation(context);

        public ValueTask CleanupAsync() => own.CleanupAsync();
    }
}
