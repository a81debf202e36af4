using System.Reflection;
using BenchmarkDotNet.Filters;
using BenchmarkDotNet.Parameters;
using BenchmarkDotNet.Running;

namespace Weir.Lab.Suites.Catalog;

/// <summary>The suites of an assembly, as BenchmarkDotNet itself sees them: its filter, its parameters, its methods.</summary>
internal static class SuiteCatalog
{
    /// <summary>All suites, in the order of the page.</summary>
    public static IReadOnlyList<Type> Suites { get; } =
    [
        .. typeof(SuiteCatalog).Assembly.GetTypes()
            .Where(static type => type.IsSubclassOf(typeof(Suite)) && !type.IsAbstract)
            .OrderBy(static type => Info(type).Order),
    ];

    public static SuiteInfoAttribute Info(Type suite) =>
        suite.GetCustomAttribute<SuiteInfoAttribute>() ?? throw new InvalidOperationException($"{suite.Name} needs a {nameof(SuiteInfoAttribute)}.");

    /// <summary>The suites of a page, in its order.</summary>
    public static IEnumerable<Type> Of(SuiteSet set) => Suites.Where(suite => Info(suite).Set == set);

    /// <summary>The suites' parameter sets with a benchmark that the filters select; without filters, those that are measured by default.</summary>
    /// <param name="filters">As BenchmarkDotNet's.</param>
    /// <param name="set">The set to select from; <see langword="null"/> for all with filters, and for the operators without.</param>
    public static IReadOnlyList<IGrouping<Type, ParameterSet>> Select(IReadOnlyList<string> filters, SuiteSet? set = null)
    {
        set ??= filters.Count == 0 ? SuiteSet.Core : null;
        GlobFilter? filter = filters.Count == 0 ? null : new GlobFilter([.. filters]);
        return
        [
            .. from suite in Suites
               where set is null || Info(suite).Set == set
               where filter is not null || !Info(suite).OnlyByName
               from benchmark in BenchmarkConverter.TypeToBenchmarks(suite).BenchmarksCases
               where filter?.Predicate(benchmark) ?? true
               group benchmark by (suite, benchmark.Parameters.DisplayInfo) into cases
               let categories = cases.Select(static benchmark => string.Join(",", benchmark.Descriptor.Categories)).ToHashSet()
               group new ParameterSet(cases.Key.suite, cases.First().Parameters, categories) by cases.Key.suite,
        ];
    }

    /// <summary>A suite's parameters and the categories that are wanted.</summary>
    internal sealed class ParameterSet(Type suite, ParameterInstances parameters, HashSet<string> categories)
    {
        /// <summary>Makes the suite, sets it up, which checks the arms, and gives a case for each category.</summary>
        /// <param name="items">How many items instead of the suite's own number; for tests.</param>
        public async Task<IReadOnlyList<MeasuredCase>> CreateAsync(int? items = null)
        {
            Suite instance = (Suite)Activator.CreateInstance(suite)!;
            foreach (ParameterInstance parameter in parameters.Items)
            {
                suite.GetProperty(parameter.Name)!.SetValue(instance, parameter.Value);
            }

            instance.N = items ?? instance.N;
            await instance.SetupAsync();
            return
            [
                .. from arm in Arm.Of(instance)
                   where categories.Contains(arm.Categories)
                   group arm by arm.Categories into arms
                   select new MeasuredCase(instance, Name(arms.Key), [.. arms.OrderByDescending(static arm => arm.IsBaseline)]),
            ];
        }

        private string Name(string category) => string.Join(
            ", ",
            parameters.Items.Select(static parameter => $"{parameter.Name}={parameter.Value}").Append(category).Where(static part => part.Length > 0));
    }
}
