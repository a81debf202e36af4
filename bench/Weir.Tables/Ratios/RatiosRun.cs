using Weir.Lab.Resources;

namespace Weir.Tables.Ratios;

/// <summary>What <c>ratios</c> does: measure the selected cases, print their tables, and write the page.</summary>
internal sealed class RatiosRun(TextWriter output, TextWriter progress)
{
    /// <summary>
    /// Runs and gives the exit code: 3 when the arms of a case do unequal work, 130 when it was stopped. The suites that were measured
    /// until then are written.
    /// </summary>
    public async Task<int> RunAsync(
        IReadOnlyList<string> filters, int rounds, FileInfo? page, SuiteSet? set = null, CancellationToken cancellationToken = default)
    {
        IReadOnlyList<IGrouping<Type, SuiteCatalog.ParameterSet>> selected = SuiteCatalog.Select(filters, set);
        if (selected.Count == 0)
        {
            throw new BadInputException(
                $"No suite matches {string.Join(' ', filters)}; the suites are {string.Join(", ", SuiteCatalog.Suites.Select(static suite => suite.Name))}.");
        }

        SuiteSet[] sets = [.. selected.Select(static suite => SuiteCatalog.Info(suite.Key).Set).Distinct()];
        if (page is not null && sets.Length > 1)
        {
            throw new BadInputException(
                "--output is the page of one set of suites, and the filters select from several: add --suites core, --suites dataflow or --suites resilience.");
        }

        PageFile.Check(page);
        ResultPage result = new(PageFile.Read(page), sets[0]);
        if (rounds > 0)
        {
            try
            {
                await MeasureAsync(selected, rounds, result, cancellationToken);
            }
            catch (UnequalWorkException exception)
            {
                await progress.WriteLineAsync(exception.Message);
                return 3;
            }
        }

        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, result.Render(), CancellationToken.None);
            await progress.WriteLineAsync($"Wrote {page}.");
        }

        if (cancellationToken.IsCancellationRequested)
        {
            await progress.WriteLineAsync("Stopped; suites that were not finished are left as they were.");
            return 130;
        }

        return 0;
    }

    private async Task MeasureAsync(
        IReadOnlyList<IGrouping<Type, SuiteCatalog.ParameterSet>> selected, int rounds, ResultPage page, CancellationToken cancellationToken)
    {
        long start = Stopwatch.GetTimestamp();
        string commit = Surroundings.Commit();
        string clock = ProcessorClock.Text() is { Length: > 0 } text ? $"; {text}" : "";
        double tick = (await TimerTick.MeasureAsync(cancellationToken: CancellationToken.None)).TotalMilliseconds;
        foreach (IGrouping<Type, SuiteCatalog.ParameterSet> suite in selected)
        {
            double noiseBefore = Surroundings.Noise();
            List<CaseResult> results = [];
            Suite? last = null;
            foreach (SuiteCatalog.ParameterSet parameters in suite)
            {
                foreach (MeasuredCase measured in await parameters.CreateAsync())
                {
                    if (cancellationToken.IsCancellationRequested)
                    {
                        return;
                    }

                    await progress.WriteLineAsync(Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {suite.Key.Name} {measured.Name}"));
                    Sampler sampler = new(rounds, (arm, patience) =>
                        progress.WriteLine(Invariant(
                            $"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  {arm.Name} did not complete in {patience.TotalSeconds:0} s: left out")))
                    {
                        IsFirst = last is null,
                    };
                    results.Add(await sampler.MeasureAsync(measured));
                    last = measured.Suite;
                }
            }

            string appendix = last is null ? "" : await last.AppendixAsync();
            double noiseAfter = Surroundings.Noise();
            string provenance = Surroundings.Provenance(
                commit, Invariant($"timer tick {tick:0.0} ms; {SpinSpeed.PerMicrosecond} spins = 1 us{clock}"), noiseBefore, noiseAfter,
                Invariant($"{rounds} rounds"));
            string section = SuiteTable.Render(provenance, results) + (appendix.Length == 0 ? "" : $"\n\n{appendix}");
            page.Replace(suite.Key, section);
            await output.WriteLineAsync($"## {SuiteCatalog.Info(suite.Key).Title}\n\n{section}\n");
        }

        await progress.WriteLineAsync(Invariant($"{Stopwatch.GetElapsedTime(start).TotalSeconds,6:0.0} s  done"));
    }
}
