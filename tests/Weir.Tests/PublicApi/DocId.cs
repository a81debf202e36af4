using System.Globalization;
using System.Reflection;

namespace Weir.Tests.PublicApi;

/// <summary>The identifiers that the compiler gives types and members in the file of XML documentation.</summary>
internal static class DocId
{
    public static string Of(MemberInfo member) => member switch
    {
        Type type => "T:" + Name(type),
        FieldInfo => $"F:{Name(member.DeclaringType!)}.{member.Name}",
        EventInfo => $"E:{Name(member.DeclaringType!)}.{member.Name}",
        PropertyInfo property => $"P:{Name(member.DeclaringType!)}.{Explicit(member.Name)}{Parameters(property.GetIndexParameters())}",
        MethodBase method => $"M:{Name(member.DeclaringType!)}.{Explicit(member.Name)}{Arity(method)}{Parameters(method.GetParameters())}",
        _ => throw new ArgumentException($"{member} has no identifier.", nameof(member)),
    };

    // Of a type as it is declared.
    private static string Name(Type type) =>
        type.DeclaringType is { } outer ? $"{Name(outer)}.{type.Name}" : string.IsNullOrEmpty(type.Namespace) ? type.Name : $"{type.Namespace}.{type.Name}";

    private static string Explicit(string name) => name.Replace('.', '#').Replace('<', '{').Replace('>', '}').Replace(',', '@');

    private static string Arity(MethodBase method) =>
        method.IsGenericMethod ? string.Create(CultureInfo.InvariantCulture, $"``{method.GetGenericArguments().Length}") : "";

    private static string Parameters(ParameterInfo[] parameters) =>
        parameters.Length == 0 ? "" : $"({string.Join(',', parameters.Select(static p => Used(p.ParameterType)))})";

    // Of a type as it is used.
    private static string Used(Type type)
    {
        if (type.IsByRef)
        {
            return Used(type.GetElementType()!) + "@";
        }

        if (type.IsArray)
        {
            return Used(type.GetElementType()!) + "[]";
        }

        if (type.IsGenericParameter)
        {
            return string.Create(CultureInfo.InvariantCulture, $"{(type.DeclaringMethod is null ? "`" : "``")}{type.GenericParameterPosition}");
        }

        if (!type.IsGenericType)
        {
            return Name(type);
        }

        string name = Name(type.GetGenericTypeDefinition());
        return $"{name[..name.IndexOf('`', StringComparison.Ordinal)]}{{{string.Join(',', type.GetGenericArguments().Select(Used))}}}";
    }
}
