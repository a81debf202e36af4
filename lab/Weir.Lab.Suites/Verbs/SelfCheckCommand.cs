using System.CommandLine;
using Weir.Lab.Suites.Page;
using Weir.Lab.Suites.SelfChecks;
using Weir.Lab.Suites.Workloads;

namespace Weir.Lab.Suites.Verbs;

/// <summary>The command line of <c>selfcheck</c>: the lab shows on itself what it claims.</summary>
internal static class SelfCheckCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/lab.md.");
        Option<bool> quick = new("--quick") { Description = "Without the part that BenchmarkDotNet builds and runs, which takes a minute or two." };
        Command command = new("selfcheck", "Shows on the lab itself what it claims: verdicts, coordinated omission, the cost of recording, workers that scale.") { page, quick };
        command.SetAction((parsed, token) =>
        {
            SpinWork.Publish();
            return Task.Run(() => RunAsync(output, errors, parsed.GetValue(page), parsed.GetValue(quick), token), CancellationToken.None);
        });
        return command;
    }

    private static async Task<int> RunAsync(TextWriter output, TextWriter errors, FileInfo? page, bool isQuick, CancellationToken cancellationToken)
    {
        if (PageFile.Refuse(page) is { } refusal)
        {
            await errors.WriteLineAsync(refusal);
            return 1;
        }

        List<CheckSection> sections = [];
        List<Func<Task<CheckSection>>> checks = [VerdictCheck.RunAsync, OmissionCheck.RunAsync, static () => Task.FromResult(RecordingCheck.Run())];
        if (!isQuick)
        {
            checks.Add(static () => Task.FromResult(ScalingCheck.Run()));
        }

        foreach (Func<Task<CheckSection>> check in checks)
        {
            if (cancellationToken.IsCancellationRequested)
            {
                await errors.WriteLineAsync("Stopped; nothing was written.");
                return 130;
            }

            sections.Add(await check());
            await errors.WriteLineAsync($"{sections.Count} of {checks.Count}: {sections[^1].Title}");
        }

        string text = await CheckPage.RenderAsync(sections);
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, CancellationToken.None);
        }

        return sections.TrueForAll(static s => s.IsMet) ? 0 : 2;
    }
}
