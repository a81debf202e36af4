using System.Reflection;
using Xunit.Sdk;
using Xunit.v3;

namespace Weir.Tests.Operators.Support;

/// <summary>
/// Some of the cases that a member of the test's class or of <see cref="Cases"/> gives: each value stands in one of them at least. Another test has others of
/// the same cases, so that any family and any source stand together in some test, which <c>FewOfTests</c> holds.
/// </summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class FewOfAttribute(string member) : DataAttribute
{
    // Next to it in the table of a matrix stands a row in which all but the last value are the same.
    private const int Stride = 11;

    public string Member => member;

    public override ValueTask<IReadOnlyCollection<ITheoryDataRow>> GetData(MethodInfo testMethod, DisposalTracker disposalTracker) =>
        new([.. Few(testMethod)]);

    public override bool SupportsDiscoveryEnumeration() => true;

    internal List<ITheoryDataRow> Few(MethodInfo test)
    {
        ITheoryDataRow[] all = All(test.DeclaringType!) ?? All(typeof(Cases)) ?? throw new InvalidOperationException($"There is no {member} for {test.Name}.");
        int stride = Enumerable.Range(Stride, all.Length).First(n => GreatestCommonDivisor(n, all.Length) == 1);
        int start = $"{test.DeclaringType!.Name}.{test.Name}".Aggregate(17, static (sum, c) => ((sum * 31) + c) & 0xFFFFFF);
        object?[][] rows = [.. Enumerable.Range(0, all.Length).Select(i => all[(start + ((long)i * stride)) % all.Length].GetData())];
        HashSet<(int Column, object? Value)> seen = [];
        List<ITheoryDataRow> few = [];

        // First those whose values are all new, then those that have fewer and fewer new ones.
        for (int fresh = rows[0].Length; fresh > 0; fresh--)
        {
            foreach (object?[] row in rows)
            {
                if (row.Where((value, column) => !seen.Contains((column, value))).Count() >= fresh)
                {
                    seen.UnionWith(row.Select(static (value, column) => (column, value)));
                    few.Add(new TheoryDataRow(row));
                }
            }
        }

        return few;
    }

    private ITheoryDataRow[]? All(Type owner)
    {
        const BindingFlags Shared = BindingFlags.Public | BindingFlags.Static;
        object? data = owner.GetMethod(member, Shared, [])?.Invoke(null, null) ?? owner.GetProperty(member, Shared)?.GetValue(null);
        return data is IEnumerable<ITheoryDataRow> rows ? [.. rows] : null;
    }

    private static int GreatestCommonDivisor(int a, int b) => b == 0 ? a : GreatestCommonDivisor(b, a % b);
}
